"""The command line: `naive-graph tour`, `lessons`, `draw`, `step`, `import`, `operators`, `sequential`, `class`.

expression  a written expression, read safely
draw, step, tour, lessons, import_model, operators, sequential, classes    a command each
main        what is read from the command line, and how it ends
"""
