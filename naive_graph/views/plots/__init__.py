"""Plots of optimisations, and of who works when.

figure          our style of plot
history         what was recorded
plot            its series
surface, walk   the function that was walked on, and the walk; `trail` makes it alive in a page, by trail.js
animate         the walk as a film, with film.html for a page
moments         what parameters make of a plane, as a film, by moments.js
compare         trainers beside each other
gantt, cycles   workers over time, and over cycles
checked         the worst entries of a gradcheck
"""
