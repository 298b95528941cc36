"""The playground: a web page that runs Python and this package in the browser, with Pyodide.

parts    its dependencies, downloaded once and checked by hash
folder   builds the page as static files
running  runs programs and cells, and shows their results

In the browser: index.html with playground.js and playground.css, and examples.txt,
programs to begin with; cells.js, by which the cells of a lesson run in its page; for
both shared.js, editor.css, worker.js, in which Python runs, and frame.html, in which
a page that Python made is shown.
"""
