"""The command line interface: `naive-graph tour`, `lessons`, `tiny`, `playground`,
`draw`, `step`, `altitudes`, `import`, `operators`, `sequential`, `site`, `class`.

expression  parses a formula safely into graph nodes
draw, step, altitudes, tour, lessons, tiny, playground, import_model, operators, sequential,
site, classes     a command each
serving     opens and serves pages in this machine's browser
main        what is read from the command line, as commands.toml has it, and how it ends
"""
