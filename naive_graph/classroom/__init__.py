"""What the lessons bring along.

sentences  small sentences to learn from
trees      networks that read them
"""
