# Prints the queries of a file whose parts begin with `-- Q` and a number, in the order that `order` names.
/^-- Q[0-9]+$/ { number = substr($2, 2); next }
/^--/ { next }
{ text[number] = text[number] $0 "\n" }
END { count = split(order, numbers, " "); for (at = 1; at <= count; at++) printf "%s", text[numbers[at]] }
