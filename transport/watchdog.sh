# The program of a Watchdog, for any POSIX shell. It reads which process groups
# there are. When its input ends without "quit" its host is dead: it kills them,
# and then all processes whose environment holds the mark.
#
# $1 is the mark; $2 is grep, or empty for groups only; $3 is sleep.

trap '' HUP INT QUIT TERM PIPE ALRM USR1 USR2 TSTP TTIN TTOU

# sweep kills what holds the mark until a look finds nothing. A process that
# hangs in the kernel is found for ever; hence the limit.
sweep() {
	looks=0
	while [ "$looks" -lt 100 ]; do
		found=$("$grep" -lsF -e "$mark" /proc/[0-9]*/environ)
		[ -n "$found" ] || return 0
		for path in $found; do
			pid=${path#/proc/}
			kill -KILL "${pid%/environ}"
		done
		looks=$((looks + 1))
	done
}

mark=$1 grep=$2 sleep=$3
groups=' '
while read -r verb group; do
	case $verb in
	add)
		groups="$groups$group "
		;;
	drop)
		case $groups in
		*" $group "*) groups="${groups%% "$group" *} ${groups#* "$group" }" ;;
		esac
		;;
	quit)
		exit 0
		;;
	esac
done

for group in $groups; do
	kill -KILL "-$group" # the one form that all shells take
done
[ -n "$grep" ] || exit 0
sweep
# A process that was just being started shows the mark a little later.
"$sleep" 1
sweep
