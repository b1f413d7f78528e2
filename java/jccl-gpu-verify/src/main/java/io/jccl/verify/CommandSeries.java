package io.jccl.verify;

import io.jccl.cli.Main;
import io.jccl.cli.output.ExitCode;
import java.util.ArrayList;
import java.util.List;

/**
 * Runs several command lines of {@code jccl} in one JVM, one after the other, so that the later ones find compiled code.
 */
public final class CommandSeries {

    /** Separates two command lines. */
    static final String NEXT = ";";

    private CommandSeries() {}

    /** Runs all lines, even after a failure; the exit status is the first one that is not 0. */
    public static void main(String[] arguments) {
        List<String> line = new ArrayList<>();
        int status = ExitCode.SUCCESS;
        for (String argument : arguments) {
            if (!argument.equals(NEXT)) {
                line.add(argument);
                continue;
            }
            status = first(status, run(line));
            line.clear();
        }
        System.exit(first(status, run(line)));
    }

    private static int first(int before, int now) {
        return before == ExitCode.SUCCESS ? now : before;
    }

    private static int run(List<String> line) {
        return line.isEmpty() ? ExitCode.SUCCESS : Main.commandLine().execute(line.toArray(String[]::new));
    }
}
