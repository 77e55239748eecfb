"""Traffic that moves by rules: agents, their simulation, the log of what happens, and what causes it."""
