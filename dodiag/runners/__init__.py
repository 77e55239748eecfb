"""Running a plan against a model: adapters, answer reading, the asynchronous runner, the ledger, resume."""
