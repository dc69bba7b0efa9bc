# Several data files; the largest is read once for each series.
set terminal dumb
set output '/dev/null'
plot 'minutes.dat' using 1:2 with lines
plot for [column = 2:5] 'seconds.dat' using 1:column with lines
plot 'hours.dat' using 1:3 with lines, 'minutes.dat' using 1:4 with lines
