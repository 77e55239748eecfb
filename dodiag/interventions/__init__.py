"""do() interventions: designs, plans, prompts, picture annotation, and the price of a plan."""
