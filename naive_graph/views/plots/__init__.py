"""Plots of optimisations (series, paths, films), and charts of tasks and pipelines over time.

figure                  our matplotlib style, and a figure that saves and shows itself
history                 the recorded series
plot                    a plot of the series
surface, walk           a function of one or two leaves, and an optimizer's path on it
interactive_path        the path in a page: interactive_path.js moves its point
animate                 the walk as a GIF
decision_boundary_film  a classifier's decision boundary at each step; decision_boundary_film.js plays it
compare                 several trainers on one surface
gantt, cycles           workers over time, and over cycles
gradcheck_plot          the worst entries of a gradient check
"""
