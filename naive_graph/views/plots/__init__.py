"""Plots of optimisations, and of who works when.

figure                  our matplotlib style, and a figure that saves and shows itself
history                 the recorded series
plot                    a plot of the series
surface, walk           a function of one or two leaves, and the walk on it
interactive_path        the walk in a page: interactive_path.js moves its point
animate                 the walk as a GIF
decision_boundary_film  what a model answers over a plane, step after step; decision_boundary_film.js plays it
compare                 several trainers on one surface
gantt, cycles           workers over time, and over cycles
gradcheck_plot          the worst entries of a gradient check
"""
