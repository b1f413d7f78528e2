package io.jccl.launch;

import io.jccl.BootstrapException;
import io.jccl.UniqueId;
import io.jccl.config.LoggedOnce;
import io.jccl.device.UserId;
import io.jccl.internal.Causes;
import io.jccl.rendezvous.BootstrapOptions;
import io.jccl.rendezvous.Connector;
import io.jccl.rendezvous.HostLookup;
import io.jccl.rendezvous.InterfaceCandidate;
import io.jccl.rendezvous.NetworkInterfaces;
import io.jccl.rendezvous.RendezvousServer;
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
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The rendezvous of a launch: rank 0 opens its server, and every rank finds it, by a known port or by a file. Closing
 * it after initialisation removes the file and closes the server. For use by one thread.
 */
public final class LaunchRendezvous implements Connector.Target, AutoCloseable {

    private static final Logger LOG = LoggerFactory.getLogger(LaunchRendezvous.class);
    private static final int MAX_FILE_BYTES = 1024;
    private static final int ROOT = 0;

    /** Part of the names of files that are not complete yet. */
    public static final String HALF = ".new-";

    private final Connector.Target target;
    private final RendezvousServer server; // null on ranks without the server
    private final Path file; // the file to remove; null if there is none
    private final Supplier<String> explanation;
    private boolean refused;

    private LaunchRendezvous(
            Connector.Target target, RendezvousServer server, Path file, Supplier<String> explanation) {
        this.target = target;
        this.server = server;
        this.file = file;
        this.explanation = explanation;
    }

    public static LaunchRendezvous of(Launch launch, int generation, BootstrapOptions options) {
        boolean opens = launch.rank() == 0;
        if (launch.rendezvous() instanceof Launch.Address address) {
            return byAddress(address, opens, generation, options);
        }
        return byFile((Launch.SharedFile) launch.rendezvous(), opens, generation, options);
    }

    /**
     * On rank 0, opens the server at the launcher's port, even if, on this host, the launcher's host name does not
     * resolve to this host. On other ranks, prepares the search for the server.
     */
    private static LaunchRendezvous byAddress(
            Launch.Address address, boolean opens, int generation, BootstrapOptions options) {
        byte[] secret = address.secret().key(generation);
        if (!opens) {
            HostSearch search = new HostSearch(address, secret);
            return new LaunchRendezvous(search, null, null, search::explanation);
        }
        if (address.guessable()) {
            LoggedOnce.warn(
                    LaunchRendezvous.class,
                    "the rendezvous " + address.host() + ":" + address.port()
                            + " has no secret, so that others who reach the port could join: set"
                            + " JCCL_RENDEZVOUS=host:port/secret on all ranks where the network is not trusted");
        }
        Connector.ServerAddress own = new Connector.ServerAddress(ownAddresses(address, options), secret);
        RendezvousServer server =
                RendezvousServer.ofRankZero(options, address.onlyLoopback().orElse(null), address.port(), secret);
        return new LaunchRendezvous(() -> own, server, null, () -> explainFromRankZero(address, options));
    }

    /**
     * Returns the reason, as far as rank 0 can see one, why other ranks may not find rank 0; empty if there is none.
     */
    private static String explainFromRankZero(Launch.Address address, BootstrapOptions options) {
        if (address.onlyLoopback().isPresent()) {
            return "rank 0 listens for ranks of its own host only, because the rendezvous is host=" + address.host()
                    + "; for ranks of other hosts name an address of this host that they can reach";
        }
        HostLookup name = new HostLookup(address.host(), address.port());
        try {
            HostLookup.resolve(List.of(name));
        } catch (IOException e) {
            return address.hosts().size() > 1 ? "" : "rank 0 cannot look up its own host either: " + Causes.describe(e);
        }
        boolean loopback = name.known().stream().allMatch(InetAddress::isLoopbackAddress);
        boolean own = NetworkInterfaces.candidates(options).stream()
                .map(InterfaceCandidate::address)
                .anyMatch(name.known()::contains);
        if (address.hosts().size() > 1 || own && !loopback) {
            return "";
        }
        return "host=" + address.host() + " is " + HostSearch.text(name.known()) + " here, which is "
                + (loopback
                        ? "a loopback address; where /etc/hosts of another host says so too, its ranks look for rank 0 on"
                                + " their own host"
                        : "no address of this host, where rank 0 runs; unless addresses are translated, name this host in"
                                + " JCCL_RENDEZVOUS, or start rank 0 on that one");
    }

    /**
     * Returns the addresses at which rank 0 reaches its own server, best first. The order matters because the
     * coordinator prefers the address that rank 0 has used.
     */
    private static List<InetSocketAddress> ownAddresses(Launch.Address address, BootstrapOptions options) {
        if (address.onlyLoopback().isPresent()) {
            return List.of(new InetSocketAddress(address.onlyLoopback().get(), address.port()));
        }
        Set<InetSocketAddress> own = new LinkedHashSet<>();
        for (InterfaceCandidate one : NetworkInterfaces.usable(options)) {
            own.add(new InetSocketAddress(one.address(), address.port()));
        }
        own.add(new InetSocketAddress(InetAddress.getLoopbackAddress(), address.port()));
        return List.copyOf(own);
    }

    private static LaunchRendezvous byFile(
            Launch.SharedFile shared, boolean opens, int generation, BootstrapOptions options) {
        Path file = generation == 0
                ? shared.path()
                : shared.path().resolveSibling(shared.path().getFileName() + "." + generation);
        Connector.Target target = () -> read(file);
        if (!opens) {
            return new LaunchRendezvous(target, null, null, () -> "");
        }
        RendezvousServer.Started started = RendezvousServer.open(options);
        try {
            write(file, started.id().toText());
            readId(file); // checks the file: if rank 0 cannot trust it, no rank can
        } catch (IOException e) {
            started.server().close();
            throw new BootstrapException(
                    "the rendezvous file=" + file + " cannot be written and read: " + Causes.describe(e)
                            + "; name another in JCCL_RENDEZVOUS, or host:port/secret",
                    e);
        }
        return new LaunchRendezvous(target, started.server(), file, () -> "");
    }

    /** Writes a file that only its owner may read, and that appears as a whole. */
    public static void write(Path file, String text) throws IOException {
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

    /** Reads an id from a file that no other user can have written. */
    public static UniqueId readId(Path file) throws IOException {
        if (!Files.isRegularFile(file, LinkOption.NOFOLLOW_LINKS)) {
            throw new NoSuchFileException(file.toString(), null, "it is not written yet");
        }
        Set<PosixFilePermission> permissions = Files.getPosixFilePermissions(file, LinkOption.NOFOLLOW_LINKS);
        if (permissions.contains(PosixFilePermission.GROUP_WRITE)
                || permissions.contains(PosixFilePermission.OTHERS_WRITE)) {
            throw new IOException("file=" + file + " can be written by others, so it is ignored");
        }
        long owner = UserId.ownerOf(file);
        long user = UserId.ofThisProcess();
        if (owner != user && owner != ROOT) {
            throw new IOException("file=" + file + " belongs to uid=" + owner
                    + ", expected uid=" + user
                    + " of this process, so it is ignored; start all"
                    + " ranks as one user, on a file system that gives files to the user who writes them");
        }
        if (Files.size(file) > MAX_FILE_BYTES) {
            throw new IOException("file=" + file + " is too long for an id");
        }
        try {
            return UniqueId.parse(Files.readString(file).lines().findFirst().orElse(""));
        } catch (IllegalArgumentException e) {
            throw new IOException("file=" + file + ": " + Causes.describe(e), e);
        }
    }

    @Override
    public Connector.ServerAddress locate() throws IOException {
        return target.locate();
    }

    /**
     * Tells the other ranks why rank 0 gives up. The server then closes by itself, so {@link #close} does not close it.
     */
    public void refuse(String why) {
        if (server != null) {
            server.refuse(why);
            refused = true;
        }
    }

    /**
     * Returns a possible reason why the ranks have not met; empty if none is known. May wait a second for a name
     * service.
     */
    public String explanation() {
        return explanation.get();
    }

    @Override
    public void close() {
        if (server != null && !refused) {
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
