"""The command line: `naive-graph tour`, `lessons`, `tiny`, `playground`,
`draw`, `step`, `altitudes`, `import`, `operators`, `sequential`, `site`, `class`.

expression  a written expression, read safely
draw, step, altitudes, tour, lessons, tiny, playground, import_model, operators, sequential,
site, classes     a command each
serving     pages in a browser of this machine
main        what is read from the command line, as commands.toml has it, and how it ends
"""
