"""The command line: `naive-graph tour`, `lessons`, `draw`, `step`, `operators`, `class`.

expression  a written expression, read safely
draw, step, tour, lessons, import_model, operators, classes    a command each
main        what is read from the command line, and how it ends
"""
