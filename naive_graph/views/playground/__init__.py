"""A page in which one writes Python without installing any: the package itself, run by Pyodide.

parts    what it needs of others, fetched once and known by their sums
folder   the page with all that it needs, as static files
running  what it does with a program: runs it, and shows what comes of it

In the browser: index.html with playground.js and playground.css, and examples.txt,
programs to begin with; cells.js, by which the cells of a lesson run in its page; for
both shared.js, editor.css, worker.js, in which Python runs, and frame.html, in which
a page that Python made is shown.
"""
