"""What the lessons bring along: data to learn from, and networks to compare your own with."""
