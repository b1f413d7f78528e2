package io.jccl.membership;

import io.jccl.UniqueId;
import io.jccl.launch.Launch;
import io.jccl.launch.LaunchRendezvous;
import io.jccl.launch.LauncherEnvironment;
import io.jccl.rendezvous.Connector;
import io.jccl.rendezvous.HostLookup;
import io.jccl.rendezvous.HostPort;
import io.jccl.wire.Handshake;
import io.jccl.wire.SessionKeys;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;

/**
 * The addresses at which a process that joins may find ranks of its job, and the key that it proves. Ranks come and go,
 * so names are resolved and files are read again for each attempt. For use by one thread.
 */
public final class JobMembers {

    private static final String FILE_PREFIX = "file:";

    private final Connector.Target target;
    private final String text;

    private JobMembers(Connector.Target target, String text) {
        this.target = target;
        this.text = text;
    }

    /**
     * Returns the members of a job whose ranks have met by an id.
     *
     * @param addresses the addresses of members, in the syntax of {@link #parse}
     * @throws IllegalArgumentException if there is no address, or one is invalid; quotes it
     */
    public static JobMembers of(UniqueId id, Collection<String> addresses) {
        return byAddress(String.join(",", addresses), SessionKeys.jobKey(id.secret()));
    }

    /**
     * Parses the members that the environment names.
     *
     * @param text {@code HOST:PORT,...}, or {@code file:/DIRECTORY} in which ranks have written files by
     *     {@link MemberFile}
     * @param environment the variables, as {@link System#getenv()}, for the secret
     * @throws IllegalArgumentException if an address is invalid; quotes it
     * @throws io.jccl.BootstrapException if the environment has no secret
     */
    public static JobMembers parse(String text, Map<String, String> environment) {
        if (!text.startsWith(FILE_PREFIX)) {
            Launch.Secret secret = LauncherEnvironment.secret(environment);
            return byAddress(text, SessionKeys.jobKey(secret.key()));
        }
        String path = text.substring((text.startsWith("file:///") ? "file://" : FILE_PREFIX).length());
        if (!path.startsWith("/")) {
            throw bad(text, "a directory needs an absolute path");
        }
        return new JobMembers(() -> read(Path.of(path)), text);
    }

    private static JobMembers byAddress(String text, byte[] jobKey) {
        List<HostLookup> hosts = new ArrayList<>();
        for (String part : text.split(",")) {
            if (!part.isBlank()) {
                HostPort place = HostPort.parse(part.trim(), why -> bad(text, why));
                hosts.add(new HostLookup(place.host(), place.port()));
            }
        }
        if (hosts.isEmpty()) {
            throw bad(text, "no address");
        }
        // If at least one name has a known address, names without one are left out, because their hosts may be gone.
        return new JobMembers(() -> new Connector.ServerAddress(HostLookup.resolve(hosts), jobKey), text);
    }

    private static IllegalArgumentException bad(String text, String why) {
        return new IllegalArgumentException("members=\"" + text + "\": " + why
                + "; expected host:port,host:port,... of ranks of the job, with [v6-address]:port, or file:/directory");
    }

    /** Returns the addresses of a rank's reserved port in the syntax of {@link #of}: {@code host:port,host:port}. */
    public static String text(String rendezvousAddress) {
        return ReservedPort.decode(rendezvousAddress).stream()
                .map(address -> {
                    String host = address.getAddress().getHostAddress();
                    return (host.indexOf(':') < 0 ? host : "[" + host + "]") + ":" + address.getPort();
                })
                .collect(Collectors.joining(","));
    }

    /** Returns the addresses to ask now, and the key. */
    Connector.ServerAddress locate() throws IOException {
        return target.locate();
    }

    /** Reads all files of one job, newest first. The job is that of the newest file, whose rank was reformed last. */
    private static Connector.ServerAddress read(Path directory) throws IOException {
        Map<Path, FileTime> files = new TreeMap<>();
        try (DirectoryStream<Path> found = Files.newDirectoryStream(directory, MemberFile.GLOB)) {
            for (Path file : found) {
                if (!file.getFileName().toString().contains(LaunchRendezvous.HALF)) {
                    files.put(file, Files.getLastModifiedTime(file));
                }
            }
        }
        List<Path> newestFirst = new ArrayList<>(files.keySet());
        newestFirst.sort(Comparator.comparing(files::get).reversed());
        List<InetSocketAddress> addresses = new ArrayList<>();
        byte[] key = null;
        IOException problem = new NoSuchFileException(directory.toString(), null, "no rank has written its file yet");
        for (Path file : newestFirst) {
            try {
                UniqueId member = LaunchRendezvous.readId(file);
                key = key == null ? member.secret() : key;
                if (Handshake.same(key, member.secret())) {
                    addresses.addAll(member.addresses());
                }
            } catch (IOException e) {
                problem = e; // the file may also have been removed meanwhile
            }
        }
        if (key == null) {
            throw problem;
        }
        return new Connector.ServerAddress(addresses, key);
    }

    @Override
    public String toString() {
        return text;
    }
}
