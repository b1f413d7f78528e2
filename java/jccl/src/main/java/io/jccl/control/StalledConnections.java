package io.jccl.control;

import java.io.BufferedReader;
import java.io.IOException;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashSet;
import java.util.HexFormat;
import java.util.List;
import java.util.Set;

/**
 * Finds the TCP connections of this process whose data the kernel has sent again and again without an answer, as
 * {@code /proc} shows. Includes the connections of native code. If such a connection has carried small messages before,
 * the usual reason is a path that drops full-sized packets (an MTU black hole): no call fails, and nothing arrives.
 */
final class StalledConnections {

    private static final String ESTABLISHED = "01";
    private static final String RETRANSMITS = "01"; // code of the retransmission timer
    private static final int MIN_REPETITIONS = 3; // a single lost packet is sent again only once or twice
    private static final int MIN_BYTES = 500; // full-sized packets are longer than this on any path
    // limits a search on a host with many connections to about a tenth of a second
    private static final int MAX_LINES = 50_000;
    // a result is reused for this time, because many ranks of a process are asked at once
    private static final long MAX_AGE_NANOS = 500_000_000;
    private static final HexFormat HEX = HexFormat.of();

    // the last result; null before the first search; guarded by the lock of the class, like foundNanos
    private static String found;
    private static long foundNanos;

    private record Stalled(String remote, long bytes, long repetitions) {}

    private StalledConnections() {}

    /** The remedy for connections that stall. */
    static final String REMEDY =
            "If the peers live and small messages pass, the path drops full-sized packets: give all hosts and"
                    + " switches one MTU, or lower that of the interface (ip link set DEVICE mtu 1400), or let ICMP \"fragmentation"
                    + " needed\" through firewalls; jccl doctor --peers tries it";

    /**
     * Returns text for the end of a message: the connection of this process that stalls most, and the remedy. Empty if
     * none stalls.
     */
    static String hint() {
        String worst = brief();
        return worst.isEmpty() ? "" : "; unacknowledged: " + worst + ". " + REMEDY;
    }

    /**
     * Returns the connection of this process that stalls most, and the number of stalled ones; empty if none stalls.
     * The text is short, because a message of the size of a full packet would stall too.
     */
    static synchronized String brief() {
        long now = System.nanoTime();
        if (found == null || now - foundNanos >= MAX_AGE_NANOS) {
            found = brief(Path.of("/proc/self"));
            foundNanos = now;
        }
        return found;
    }

    /**
     * Returns the connection of a process that stalls most.
     *
     * @param process the directory of the process in {@code /proc}
     */
    static String brief(Path process) {
        Set<String> own = sockets(process.resolve("fd"));
        List<Stalled> stalled = new ArrayList<>();
        for (String table : List.of("net/tcp", "net/tcp6")) {
            read(process.resolve(table), own, stalled);
        }
        return stalled.stream()
                .max(Comparator.comparingLong(Stalled::repetitions).thenComparingLong(Stalled::bytes))
                .map(worst -> "bytes=" + worst.bytes() + " to " + worst.remote() + " sent again " + worst.repetitions()
                        + " times" + (stalled.size() == 1 ? "" : ", of " + stalled.size() + " such connections"))
                .orElse("");
    }

    private static Set<String> sockets(Path descriptors) {
        Set<String> inodes = new HashSet<>();
        try (DirectoryStream<Path> files = Files.newDirectoryStream(descriptors)) {
            for (Path file : files) {
                String target = target(file);
                if (target.startsWith("socket:[")) {
                    inodes.add(target.substring("socket:[".length(), target.length() - 1));
                }
            }
        } catch (IOException | DirectoryIteratorException e) {
            return inodes; // not Linux, or no descriptor is left to read the directory
        }
        return inodes;
    }

    private static String target(Path file) {
        try {
            return Files.readSymbolicLink(file).toString();
        } catch (IOException e) {
            return ""; // the descriptor was closed meanwhile
        }
    }

    private static void read(Path table, Set<String> own, List<Stalled> stalled) {
        try (BufferedReader lines = Files.newBufferedReader(table)) {
            String line = lines.readLine(); // the header
            for (int i = 0; i < MAX_LINES && line != null; i++) {
                line = lines.readLine();
                if (line != null) {
                    addIfStalled(line.trim().split("\\s+"), own, stalled);
                }
            }
        } catch (IOException e) {
            return; // the address family does not exist
        }
    }

    /**
     * Adds the connection of a row if it is stalled. Columns: slot, local, remote, state, queues, timer and its time,
     * repetitions, user, probes, inode.
     */
    private static void addIfStalled(String[] columns, Set<String> own, List<Stalled> stalled) {
        boolean retransmits = columns.length > 9
                && columns[3].equals(ESTABLISHED)
                && columns[5].startsWith(RETRANSMITS + ":")
                && own.contains(columns[9]);
        if (!retransmits) {
            return;
        }
        long bytes = Long.parseLong(columns[4].split(":")[0], 16);
        long repetitions = Long.parseLong(columns[6], 16);
        if (repetitions >= MIN_REPETITIONS && bytes >= MIN_BYTES) {
            stalled.add(new Stalled(address(columns[2]), bytes, repetitions));
        }
    }

    /**
     * Converts an address. The kernel prints it as words of 32 bits, each in the CPU's byte order, which is
     * little-endian here.
     */
    private static String address(String text) {
        int colon = text.indexOf(':');
        byte[] printed = HEX.parseHex(text.substring(0, colon));
        byte[] address = new byte[printed.length];
        for (int i = 0; i < printed.length; i++) {
            address[i] = printed[(i & ~3) + 3 - (i & 3)];
        }
        try {
            String host = InetAddress.getByAddress(address).getHostAddress();
            return (host.contains(":") ? "[" + host + "]" : host) + ":"
                    + Integer.parseInt(text.substring(colon + 1), 16);
        } catch (UnknownHostException e) {
            return text;
        }
    }
}
