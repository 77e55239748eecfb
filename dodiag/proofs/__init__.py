"""The theorems as machine-checked statements."""
