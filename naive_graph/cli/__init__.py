"""The command line: `naive-graph tour`, `lessons`, `operators`, `draw`, `step`.

expression  a written expression, read safely
draw, step, tour, lessons, operators    a command each
main        what is read from the command line, and how it ends
"""
