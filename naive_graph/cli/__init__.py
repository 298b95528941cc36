"""The command line: `naive-graph tour`, `lessons`, `draw`, `step`, `operators`, `sequential`, `class`.

expression  a written expression, read safely
draw, step, tour, lessons, operators, sequential, classes    a command each
main        what is read from the command line, and how it ends
"""
