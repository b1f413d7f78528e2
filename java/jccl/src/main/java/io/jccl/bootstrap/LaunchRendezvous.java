package io.jccl.bootstrap;

import io.jccl.BootstrapException;
import io.jccl.UniqueId;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The rendezvous of a launch: rank 0 opens its server, and every rank finds it, by a known port or by a file. Closing
 * it, when initialisation has ended, removes the file and closes the server. For one thread.
 */
final class LaunchRendezvous implements Connector.Target, AutoCloseable {

    private static final Logger LOG = LoggerFactory.getLogger(LaunchRendezvous.class);
    private static final int MAX_FILE_BYTES = 1024;

    /** In the names of files that are not whole yet. */
    static final String HALF = ".new-";

    private final Connector.Target target;
    private final RendezvousServer server;
    private final Path file;

    private LaunchRendezvous(Connector.Target target, RendezvousServer server, Path file) {
        this.target = target;
        this.server = server;
        this.file = file;
    }

    static LaunchRendezvous of(Launch launch, int generation, BootstrapOptions options) {
        boolean opens = launch.rank() == 0;
        if (launch.rendezvous() instanceof Launch.Address address) {
            return byAddress(address, opens, generation, options);
        }
        return byFile((Launch.SharedFile) launch.rendezvous(), opens, generation, options);
    }

    private static LaunchRendezvous byAddress(
            Launch.Address address, boolean opens, int generation, BootstrapOptions options) {
        byte[] secret = address.secret().key(generation);
        Connector.Target target = () -> {
            List<InetSocketAddress> addresses = new ArrayList<>();
            for (InetAddress resolved : InetAddress.getAllByName(address.host())) {
                addresses.add(new InetSocketAddress(resolved, address.port()));
            }
            return new Connector.ServerAddress(addresses, secret);
        };
        if (!opens) {
            return new LaunchRendezvous(target, null, null);
        }
        if (address.guessable()) {
            LOG.warn(
                    "the rendezvous {}:{} has no secret, so that others who reach the port could join: set"
                            + " JCCL_RENDEZVOUS=host:port/secret on all ranks where the network is not trusted",
                    address.host(),
                    address.port());
        }
        RendezvousServer server = new RendezvousServer(options, bindAddress(address), address.port(), secret);
        return new LaunchRendezvous(target, server, null);
    }

    /** Loopback binds to loopback; any other name to all addresses, because its address may be translated. */
    private static InetAddress bindAddress(Launch.Address address) {
        try {
            InetAddress resolved = InetAddress.getByName(address.host());
            return resolved.isLoopbackAddress() ? resolved : null;
        } catch (IOException e) {
            throw new BootstrapException(
                    "JCCL_RENDEZVOUS host=" + address.host() + " cannot be resolved on rank 0: " + e.getMessage(), e);
        }
    }

    private static LaunchRendezvous byFile(
            Launch.SharedFile shared, boolean opens, int generation, BootstrapOptions options) {
        Path file = generation == 0
                ? shared.path()
                : shared.path().resolveSibling(shared.path().getFileName() + "." + generation);
        Connector.Target target = () -> read(file);
        if (!opens) {
            return new LaunchRendezvous(target, null, null);
        }
        RendezvousServer.Started started = RendezvousServer.open(options);
        try {
            write(file, started.id().toText());
        } catch (IOException e) {
            started.server().close();
            throw new BootstrapException(
                    "the rendezvous file=" + file + " cannot be written: " + e + "; name another in JCCL_RENDEZVOUS",
                    e);
        }
        return new LaunchRendezvous(target, started.server(), file);
    }

    /** Only the owner may read the file, and it appears whole. */
    static void write(Path file, String text) throws IOException {
        Path half = file.resolveSibling(
                file.getFileName() + HALF + ProcessHandle.current().pid());
        Files.deleteIfExists(half);
        Files.createFile(half, PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------")));
        Files.writeString(half, text, StandardOpenOption.WRITE);
        Files.move(half, file, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
    }

    private static Connector.ServerAddress read(Path file) throws IOException {
        UniqueId id = readId(file);
        return new Connector.ServerAddress(id.addresses(), id.secret());
    }

    /** The id in a file that nobody else can have written. */
    static UniqueId readId(Path file) throws IOException {
        if (!Files.isRegularFile(file, LinkOption.NOFOLLOW_LINKS)) {
            throw new NoSuchFileException(file.toString(), null, "it is not written yet");
        }
        Set<PosixFilePermission> permissions = Files.getPosixFilePermissions(file, LinkOption.NOFOLLOW_LINKS);
        if (permissions.contains(PosixFilePermission.GROUP_WRITE)
                || permissions.contains(PosixFilePermission.OTHERS_WRITE)) {
            throw new IOException("file=" + file + " can be written by others, so it is ignored");
        }
        String owner = Files.getOwner(file, LinkOption.NOFOLLOW_LINKS).getName();
        String user = System.getProperty("user.name", "?");
        if (!user.equals("?") && !owner.equals(user) && !owner.equals("root")) {
            throw new IOException(
                    "file=" + file + " belongs to owner=" + owner + ", not to user=" + user + ", so it is ignored");
        }
        if (Files.size(file) > MAX_FILE_BYTES) {
            throw new IOException("file=" + file + " is too long for an id");
        }
        try {
            return UniqueId.parse(Files.readString(file).lines().findFirst().orElse(""));
        } catch (IllegalArgumentException e) {
            throw new IOException("file=" + file + ": " + e.getMessage(), e);
        }
    }

    @Override
    public Connector.ServerAddress locate() throws IOException {
        return target.locate();
    }

    @Override
    public void close() {
        if (server != null) {
            server.close();
        }
        if (file != null) {
            try {
                Files.deleteIfExists(file);
            } catch (IOException e) {
                LOG.warn("the rendezvous file={} cannot be removed: {}", file, e.toString());
            }
        }
    }
}
