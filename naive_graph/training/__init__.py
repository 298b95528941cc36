"""Learning: models, the formulas that move their parameters, and the trainers that apply them."""
