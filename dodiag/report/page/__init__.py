"""The report of a run as one HTML page that needs nothing else: no script, no network, no second file."""
