package io.jccl.device;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Identifies users of this host by the kernel's numbers. Names are no use: images map them differently, launchers set
 * {@code user.name}, and the user of a container often has none.
 *
 * <p>The owner of {@code /proc/self}, a link, is root, and so is the owner of the folder of a process that may not be
 * dumped (for example after a change of user). Only {@code /proc/PID/status} shows the user of a process in every case.
 */
public final class UserId {

    private static final Path OWN_STATUS = Path.of("/proc/self/status");

    /** Real, effective, saved and file-system user, as unsigned numbers. New files belong to the last. */
    private static final Pattern LINE =
            Pattern.compile("^Uid:(?:\\s+[0-9]{1,10}){3}\\s+([0-9]{1,10})$", Pattern.MULTILINE);

    private UserId() {}

    /**
     * Returns the user who owns the files that this process creates.
     *
     * @throws IOException if {@code /proc} cannot be read
     */
    public static long ofThisProcess() throws IOException {
        return ofStatus(OWN_STATUS);
    }

    /**
     * Returns the user who owns the files that a process creates.
     *
     * @throws java.nio.file.NoSuchFileException if there is no such process, or {@code /proc} is mounted with {@code
     *     hidepid} and hides it
     * @throws IOException if {@code /proc} cannot be read
     */
    public static long ofProcess(long pid) throws IOException {
        return ofStatus(Path.of("/proc/" + pid + "/status"));
    }

    /**
     * Returns the owner of a file. Of a link, returns the owner of the link itself, not of its target.
     *
     * @throws IOException if the file does not exist or cannot be examined
     */
    public static long ownerOf(Path file) throws IOException {
        return Integer.toUnsignedLong((Integer) Files.getAttribute(file, "unix:uid", LinkOption.NOFOLLOW_LINKS));
    }

    static long ofStatus(Path status) throws IOException {
        Matcher line = LINE.matcher(Files.readString(status, StandardCharsets.ISO_8859_1));
        if (!line.find()) {
            throw new IOException("file=" + status + ": expected a line \"Uid:\" with four numbers, found none");
        }
        return Long.parseLong(line.group(1));
    }
}
