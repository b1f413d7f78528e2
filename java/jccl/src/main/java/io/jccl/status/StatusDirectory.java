package io.jccl.status;

import io.jccl.config.Settings;
import io.jccl.config.StatusSettings;
import io.jccl.device.UserId;
import java.io.IOException;
import java.net.BindException;
import java.net.ConnectException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.file.AccessDeniedException;
import java.nio.file.DirectoryStream;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The directory with the Unix sockets of a user's processes. Each process has one socket, named by its process id. Only
 * the user can enter the directory; both sides check that, so that no other user can listen or ask there.
 */
public final class StatusDirectory {

    private static final Set<PosixFilePermission> OWNER_ONLY = PosixFilePermissions.fromString("rwx------");
    private static final Pattern SOCKET = Pattern.compile("([1-9][0-9]{0,9})(-[1-9])?\\.sock");
    // more than 1 because containers that share the directory may share process ids
    private static final int MAX_OF_ONE_PID = 9;
    private static final int MAX_LISTED = 10_000;

    private final Path path;
    private final long uid;

    private StatusDirectory(Path path, long uid) {
        this.path = path;
        this.uid = uid;
    }

    /** Returns the directory of this process's user. */
    public static StatusDirectory of(Settings settings) throws IOException {
        return of(settings, UserId.ofThisProcess());
    }

    /**
     * Returns the directory of the user of another process.
     *
     * @throws NoSuchFileException if there is no such process
     * @throws AccessDeniedException if the process belongs to another user. Only root can enter the directories of
     *     other users
     */
    public static StatusDirectory ofProcess(Settings settings, long pid) throws IOException {
        long uid = UserId.ofProcess(pid);
        long own = UserId.ofThisProcess();
        if (own != 0 && own != uid) {
            throw new AccessDeniedException("pid=" + pid + " uid=" + uid + ": expected a process of uid=" + own
                    + ", which runs this command; run it as the process's user, or as root");
        }
        return of(settings, uid);
    }

    private static StatusDirectory of(Settings settings, long uid) {
        Path path = settings.get(StatusSettings.STATUS_DIR).map(Path::of).orElseGet(() -> Path.of("/tmp/jccl-" + uid));
        return new StatusDirectory(path.toAbsolutePath(), uid);
    }

    /** Returns the path of the directory. */
    public Path path() {
        return path;
    }

    /**
     * The socket of a process.
     *
     * @param pid the process id
     * @param path the path of the socket
     */
    public record Entry(long pid, Path path) {

        /** Returns the address of the socket. */
        public UnixDomainSocketAddress address() {
            return UnixDomainSocketAddress.of(path);
        }
    }

    /**
     * Returns the sockets of all processes, some of which may have ended.
     *
     * @return the sockets; empty if the directory does not exist yet
     * @throws IOException if others could write into the directory
     */
    public List<Entry> entries() throws IOException {
        List<Entry> entries = new ArrayList<>();
        if (!Files.exists(path, LinkOption.NOFOLLOW_LINKS)) {
            return entries;
        }
        requireOwnerOnly();
        try (DirectoryStream<Path> files = Files.newDirectoryStream(path)) {
            for (Path file : files) {
                Matcher name = SOCKET.matcher(file.getFileName().toString());
                if (name.matches() && entries.size() < MAX_LISTED) {
                    entries.add(new Entry(Long.parseLong(name.group(1)), file));
                }
            }
        }
        entries.sort(Comparator.comparingLong(Entry::pid).thenComparing(Entry::path));
        return entries;
    }

    /**
     * Removes the socket of a process that has ended. Checks that the process has ended, because connections to a
     * socket that is bound and does not listen yet are refused too. If such a socket were removed, nobody could find
     * its process again.
     */
    public void remove(Entry entry) throws IOException {
        if (ProcessState.of(entry.pid()) == ProcessState.ENDED && isStale(entry.path())) {
            Files.deleteIfExists(entry.path());
        }
    }

    /** Returns a channel that listens on this process's socket. Removes the sockets of processes that have ended. */
    ServerSocketChannel bind(long pid) throws IOException {
        try {
            Files.createDirectories(path.getParent());
            Files.createDirectory(path, PosixFilePermissions.asFileAttribute(OWNER_ONLY));
        } catch (FileAlreadyExistsException e) {
            requireOwnerOnly();
        }
        for (Entry entry : entries()) {
            remove(entry);
        }
        for (int i = 0; i < MAX_OF_ONE_PID; i++) {
            Path socket = path.resolve(pid + (i == 0 ? "" : "-" + i) + ".sock");
            if (Files.exists(socket, LinkOption.NOFOLLOW_LINKS) && isStale(socket)) {
                Files.deleteIfExists(socket);
            }
            ServerSocketChannel channel = ServerSocketChannel.open(StandardProtocolFamily.UNIX);
            try {
                return channel.bind(UnixDomainSocketAddress.of(socket), StatusServer.MAX_CONNECTIONS);
            } catch (BindException inUse) {
                channel.close(); // a process of another container has this process id
            } catch (IOException | RuntimeException e) {
                channel.close();
                throw e;
            }
        }
        throw new IOException("directory=" + path + " has " + MAX_OF_ONE_PID + " sockets of pid=" + pid + " in use");
    }

    /** Returns true if no process listens on the socket. */
    private static boolean isStale(Path socket) {
        try (SocketChannel channel = SocketChannel.open(StandardProtocolFamily.UNIX)) {
            // if the listener's queue is full, connect fails at once instead of blocking
            channel.configureBlocking(false);
            channel.connect(UnixDomainSocketAddress.of(socket));
            return false;
        } catch (ConnectException e) {
            return true;
        } catch (IOException e) {
            return false; // it is not known whether a process listens
        }
    }

    private void requireOwnerOnly() throws IOException {
        try {
            if (!Files.isDirectory(path, LinkOption.NOFOLLOW_LINKS)) {
                throw new IOException("directory=" + path + ": not a directory; remove it, or name another in "
                        + StatusSettings.STATUS_DIR.name());
            }
            long owner = UserId.ownerOf(path);
            Set<PosixFilePermission> permissions = Files.getPosixFilePermissions(path, LinkOption.NOFOLLOW_LINKS);
            if (owner != uid || !OWNER_ONLY.containsAll(permissions)) {
                throw new IOException("directory=" + path + " owner=" + owner + " mode="
                        + PosixFilePermissions.toString(permissions) + ": expected owner=" + uid
                        + " and a mode that lets nobody else in, rwx------; remove it, or name another in "
                        + StatusSettings.STATUS_DIR.name());
            }
        } catch (NoSuchFileException e) {
            throw new IOException("directory=" + path + " was removed meanwhile", e);
        }
    }
}
