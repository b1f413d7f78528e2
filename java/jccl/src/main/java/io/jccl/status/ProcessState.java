package io.jccl.status;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;

/** What the kernel of this host says of a process. */
public enum ProcessState {
    /** It runs, or sleeps. */
    RUNS,
    /** It is stopped, by a signal or a debugger. */
    STOPPED,
    /** There is no such process, or only what its parent has not yet collected. */
    ENDED,
    /** It cannot be known. */
    UNKNOWN;

    /** The state of a process of this host. */
    public static ProcessState of(long pid) {
        try {
            return ofStat(new String(Files.readAllBytes(Path.of("/proc/" + pid + "/stat")), StandardCharsets.UTF_8));
        } catch (NoSuchFileException e) {
            return ENDED;
        } catch (IOException e) {
            return UNKNOWN;
        }
    }

    /** The letter comes after the name in parentheses, which may have parentheses itself. */
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
