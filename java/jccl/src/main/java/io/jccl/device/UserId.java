package io.jccl.device;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Users of this host by the kernel's numbers. Names decide nothing: images map them differently, launchers set
 * {@code user.name}, and a container's user often has none.
 *
 * <p>The kernel gives {@code /proc/self}, a link, to root, and so it does with the folder of a process that may not be dumped
 * (after a change of user, for example). Only {@code /proc/PID/status} says whose process it is, for every user.
 */
public final class UserId {

    private static final Path OWN_STATUS = Path.of("/proc/self/status");

    /** Real, effective, saved and file system's user, without a sign; files belong to the last. */
    private static final Pattern LINE =
            Pattern.compile("^Uid:(?:\\s+[0-9]{1,10}){3}\\s+([0-9]{1,10})$", Pattern.MULTILINE);

    private UserId() {}

    /**
     * The user to whom files belong that this process makes.
     *
     * @throws IOException if {@code /proc} cannot be read
     */
    public static long ofThisProcess() throws IOException {
        return ofStatus(OWN_STATUS);
    }

    /**
     * The user to whom files belong that a process makes.
     *
     * @throws java.nio.file.NoSuchFileException if there is no such process, or {@code /proc} is mounted with
     *     {@code hidepid} and hides it
     * @throws IOException if {@code /proc} cannot be read
     */
    public static long ofProcess(long pid) throws IOException {
        return ofStatus(Path.of("/proc/" + pid + "/status"));
    }

    /**
     * The owner of a file; of a link its own, not that of what it leads to.
     *
     * @throws IOException if the file is not there or cannot be examined
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
