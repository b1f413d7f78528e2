package io.jccl.status;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;

/** The state of a process according to the kernel of this host. */
public enum ProcessState {
    /** The process runs or sleeps. */
    RUNS,
    /** The process is stopped, by a signal or a debugger. */
    STOPPED,
    /** There is no such process, or it has ended and its parent has not collected it yet. */
    ENDED,
    /** The state cannot be determined. */
    UNKNOWN;

    /** Returns the state of a process of this host. */
    public static ProcessState of(long pid) {
        try {
            return ofStat(new String(Files.readAllBytes(Path.of("/proc/" + pid + "/stat")), StandardCharsets.UTF_8));
        } catch (NoSuchFileException e) {
            return ENDED;
        } catch (IOException e) {
            return UNKNOWN;
        }
    }

    /** Finds the state's letter, which follows the name in parentheses. The name may contain parentheses. */
    static ProcessState ofStat(String stat) {
        int end = stat.lastIndexOf(')');
        if (end < 0 || end + 2 >= stat.length()) {
            return UNKNOWN;
        }
        return switch (stat.charAt(end + 2)) {
            case 'T', 't' -> STOPPED;
            case 'Z', 'X' -> ENDED;
            default -> RUNS;
        };
    }
}
