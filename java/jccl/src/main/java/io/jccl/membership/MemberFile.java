package io.jccl.membership;

import io.jccl.BootstrapException;
import io.jccl.internal.Causes;
import io.jccl.launch.LaunchRendezvous;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;

/**
 * The file in which a rank publishes its address to joining processes that share a file system with it. The first line
 * is the text of an id, with the addresses of the rank's reserved port and the job's key. The second line says which
 * rank wrote the file.
 */
public final class MemberFile {

    /** The pattern that the names of member files match. */
    static final String GLOB = "member-*";

    private MemberFile() {}

    /** Returns the path of a process's file, which is named after the number that the launcher gave the process. */
    public static Path of(Path directory, int number) {
        return directory.resolve("member-" + number);
    }

    /** Returns the text that says which rank wrote a file last; empty if there is no file. */
    public static Optional<String> describe(Path file) {
        try {
            return Files.readAllLines(file).stream().skip(1).findFirst();
        } catch (IOException e) {
            return Optional.empty();
        }
    }

    /**
     * Writes or replaces a rank's file.
     *
     * @throws BootstrapException if the file cannot be written
     */
    public static void write(Path file, Bootstrap member) {
        try {
            String who = "rank " + member.rank() + " of " + member.size() + " in generation " + member.generation();
            LaunchRendezvous.write(file, member.memberId().toText() + "\n" + who + "\n");
        } catch (IOException e) {
            throw new BootstrapException(
                    "the file=" + file + " cannot be written: " + Causes.describe(e)
                            + "; name another in JCCL_MEMBER_FILE",
                    e);
        }
    }
}
