package io.jccl.bootstrap;

import io.jccl.BootstrapException;
import io.jccl.internal.Causes;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;

/**
 * The file by which a rank lets processes join that share a file system with it: the addresses of its reserved port and
 * the job's key, as the text of an id, and in a second line which rank it is.
 */
public final class MemberFile {

    /** The names of such files in a directory. */
    static final String GLOB = "member-*";

    private MemberFile() {}

    /** A rank's file in a directory, by what its launcher calls it. */
    public static Path of(Path directory, int number) {
        return directory.resolve("member-" + number);
    }

    /** Which rank wrote a file last, as text; empty if there is no file. */
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
     * @throws BootstrapException if that cannot be
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
