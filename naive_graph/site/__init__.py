"""The course as a folder of static files, which any web server or file share can serve: `naive-graph site -o public`.

markdown   texts as HTML: markdown with formulas, docstrings, code
page       the frame of every page: navigation, style, and what its scripts may do
lessons    a notebook as a page to read
slides     a notebook as slides to talk about
messages   what errors say, read from the source
api_entry  a public name, and its page in the reference
reference  all of them in groups, and what a search finds
languages  our texts in other languages
gallery    programs.md, run and drawn
wheel      the package itself, to be installed
lab        the notebooks in JupyterLite, which runs them in the browser
build      all of it, written into a folder

The pages stand in templates/. Opened from a file or a server they ask no other host for anything
unless a learner allows it, and they can be read without JavaScript. Beside a playground the cells of
a lesson run in its page. The extra `site` brings what is needed.
"""
