package io.jccl.cli.launch;

import java.io.IOException;
import java.io.PrintStream;
import java.lang.ProcessBuilder.Redirect;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Set;

/**
 * A shell that ends a job whose launcher is gone. The shell reads a pipe that only this process can write to, so the
 * pipe ends when this process ends, for whatever reason. Then the shell ends the ranks and every process whose
 * environment names the job's directory, first by TERM and after the grace by KILL. At last it removes the directory.
 */
final class Watchdog implements AutoCloseable {

    /**
     * Name of the environment variable that gives every rank the directory of the job. JCCL_RENDEZVOUS does not always
     * name the directory, because ranks of a job over several hosts use another rendezvous. A name that begins with
     * JCCL_ would be taken as a setting.
     */
    static final String MARK = "_JCCL_JOB";

    private static final String SCRIPT =
            """
            trap '' HUP INT TERM
            directory=$1 tenths=$2 ranks=' '
            while read -r event rank; do
              case $event in
                started) ranks="$ranks$rank " ;;
                ended) ranks="${ranks%%" $rank "*} ${ranks#*" $rank "}" ;;
                closed) exit ;;
              esac
            done

            # Sends a signal; fails when no process of the job is alive.
            signal() {
              alive=1
              pids=$ranks
              for file in $(grep -lsF "_JCCL_JOB=$directory" /proc/[0-9]*/environ); do
                pid=${file#/proc/}
                pids="$pids ${pid%/environ}"
              done
              for pid in $pids; do
                kill -"$1" "$pid" 2>/dev/null && [ -e "/proc/$pid/exe" ] && alive=0 # a zombie has none
              done
              return $alive
            }

            signal TERM
            while [ "$tenths" -gt 0 ] && signal 0; do
              sleep 0.1
              tenths=$((tenths - 1))
            done
            tries=50
            while signal KILL && [ "$tries" -gt 0 ]; do
              sleep 0.1
              tries=$((tries - 1))
            done
            rm -rf "$directory"
            """;

    private final Process shell;
    private final PrintStream pipe; // a PrintStream, because it ignores that the shell may have ended

    private Watchdog(Process shell) {
        this.shell = shell;
        this.pipe = new PrintStream(shell.getOutputStream(), true, StandardCharsets.US_ASCII);
    }

    /**
     * Starts the shell.
     *
     * @param directory directory of the job; need not exist yet
     * @param grace time that a rank may take to end after TERM before it is killed
     */
    static Watchdog start(Path directory, Duration grace) throws IOException {
        long tenths = Math.min(grace.toMillis() / 100, Integer.MAX_VALUE);
        ProcessBuilder builder =
                new ProcessBuilder("sh", "-c", SCRIPT, "jccl-watchdog", directory.toString(), Long.toString(tenths));
        builder.environment()
                .keySet()
                // Without MARK, the shell belongs to no job, even if this process belongs to one.
                .retainAll(Set.of("PATH"));
        builder.redirectOutput(Redirect.DISCARD).redirectError(Redirect.DISCARD);
        return new Watchdog(builder.start());
    }

    synchronized void started(long pid) {
        pipe.print("started " + pid + "\n");
        pipe.flush();
    }

    synchronized void ended(long pid) {
        pipe.print("ended " + pid + "\n");
        pipe.flush();
    }

    /** Ends the shell, which then ends no rank and removes nothing. A second call does nothing. */
    @Override
    public synchronized void close() {
        if (shell.isAlive()) {
            pipe.print("closed\n");
        }
        pipe.close();
    }
}
