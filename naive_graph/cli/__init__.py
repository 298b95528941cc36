"""The command line interface: `naive-graph tour`, `lessons`, `tiny`, `playground`,
`draw`, `step`, `altitudes`, `import`, `operators`, `sequential`, `site`, `class`.

main        the entry point: parses the command line, runs the command, returns the exit code
commands    (.toml) all commands with their options and help texts, and the function that each runs
draw, step, altitudes, tour, lessons, tiny, playground, import_model, operators, sequential,
site, classes     a command each; classes is `naive-graph class`
expression  parses a formula safely into graph nodes
serving     opens and serves pages in this machine's browser
"""
