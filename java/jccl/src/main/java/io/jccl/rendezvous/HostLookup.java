package io.jccl.rendezvous;

import io.jccl.internal.Causes;
import io.jccl.internal.ServiceThread;
import io.jccl.internal.Threads;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executor;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.LongSupplier;
import java.util.stream.IntStream;

/**
 * Looks up the addresses of a host again and again while ranks wait for it: a pod's name appears seconds after the pod
 * starts, and a host that was replaced has another address. For use by one thread.
 *
 * <p>A lookup blocks while name servers do not answer, and cannot be interrupted. So it runs on a daemon thread of its
 * own, and callers use the result once it is available.
 *
 * <p>The JVM caches the addresses of a known name for thirty seconds, and the fact that a name is unknown for ten
 * ({@code networkaddress.cache.negative.ttl}). The cache distinguishes upper and lower case; name servers and {@code
 * /etc/hosts} do not. So later lookups spell the name in other ways.
 */
public final class HostLookup {

    /** Asks the name service. */
    interface Resolver {

        public InetAddress[] resolve(String name) throws UnknownHostException;
    }

    public static final String LOCALHOST = "localhost";
    private static final long FRESH_NANOS = TimeUnit.SECONDS.toNanos(1);
    private static final long REMEMBERED_NANOS = TimeUnit.SECONDS.toNanos(10);
    private static final int MAX_VARIED_LETTERS = 10;

    private final String host;
    private final int port;
    private final Resolver resolver;
    private final LongSupplier clock;
    private final Executor threads;
    private final long since;
    private List<InetAddress> known;
    private final boolean needsNoLookup;
    private FutureTask<List<InetAddress>> lookup; // null before the first lookup
    private long lookupSince;

    public HostLookup(String host, int port) {
        this(host, port, InetAddress::getAllByName, System::nanoTime, HostLookup::onOwnThread);
    }

    public HostLookup(String host, int port, Resolver resolver, LongSupplier clock, Executor threads) {
        this.host = host;
        this.port = port;
        this.resolver = resolver;
        this.clock = clock;
        this.threads = threads;
        this.since = clock.getAsLong();
        this.known = isLocalhost(host)
                ? List.of(address(127, 0, 0, 1), address(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1))
                : literal(host).map(List::of).orElse(List.of());
        this.needsNoLookup = !known.isEmpty();
    }

    /** Returns the loopback address if the text is one, or is {@code localhost}; else empty. Does no lookup. */
    public static Optional<InetAddress> loopback(String host) {
        return isLocalhost(host)
                ? Optional.of(InetAddress.getLoopbackAddress())
                : literal(host).filter(InetAddress::isLoopbackAddress);
    }

    public static boolean isLocalhost(String host) {
        String name = host.toLowerCase(Locale.ROOT);
        return name.equals(LOCALHOST) || name.equals(LOCALHOST + ".");
    }

    private static Optional<InetAddress> literal(String host) {
        if (host.indexOf(':') < 0 && !host.matches("[0-9.]+")) {
            return Optional.empty();
        }
        try {
            return Optional.of(InetAddress.getByName(host));
        } catch (UnknownHostException e) {
            return Optional.empty(); // for example if the scope of an IPv6 address is no interface of this host
        }
    }

    private static InetAddress address(int... bytes) {
        byte[] raw = new byte[bytes.length];
        for (int i = 0; i < raw.length; i++) {
            raw[i] = (byte) bytes[i];
        }
        try {
            return InetAddress.getByAddress(LOCALHOST, raw);
        } catch (UnknownHostException e) {
            throw new IllegalStateException(raw.length + " bytes are an address", e);
        }
    }

    /**
     * Returns the addresses of hosts, in the order of the hosts. Waits at most a second and leaves out hosts whose
     * addresses are not known by then.
     *
     * @throws IOException if no address is known; the message says why
     */
    public static List<InetSocketAddress> resolve(Collection<HostLookup> hosts) throws IOException {
        hosts.forEach(HostLookup::begin);
        long end = System.nanoTime() + FRESH_NANOS;
        Set<InetSocketAddress> addresses = new LinkedHashSet<>();
        IOException unknown = null;
        for (HostLookup one : hosts) {
            try {
                for (InetAddress address : one.await(end - System.nanoTime())) {
                    addresses.add(new InetSocketAddress(address, one.port));
                }
            } catch (IOException e) {
                unknown = e;
            }
        }
        if (addresses.isEmpty() && unknown != null) {
            throw unknown;
        }
        return List.copyOf(addresses);
    }

    /** Returns the addresses that the last successful lookup found; empty before the first. */
    public List<InetAddress> known() {
        return known;
    }

    public String host() {
        return host;
    }

    private void begin() {
        boolean recent = lookup != null && clock.getAsLong() - lookupSince < FRESH_NANOS;
        if (needsNoLookup || recent || lookup != null && !lookup.isDone()) {
            return;
        }
        lookupSince = clock.getAsLong();
        String spelling = spelling();
        lookup = new FutureTask<>(() -> lookUp(spelling));
        threads.execute(lookup);
    }

    private static void onOwnThread(Runnable lookup) {
        if (Threads.tryStart(ServiceThread.once("jccl-lookup", lookup)).isPresent()) {
            lookup.run(); // no thread could be started, so this rank waits before the next lookup
        }
    }

    /**
     * Looks up a spelling of the name. Loopback addresses come last: they only show that this host resolves the name to
     * itself, and rank 0 may be on another host.
     */
    private List<InetAddress> lookUp(String spelling) throws UnknownHostException {
        List<InetAddress> addresses = new ArrayList<>();
        for (InetAddress address : resolve(spelling)) {
            boolean scoped = address.getHostAddress().indexOf('%') >= 0;
            addresses.add(scoped ? address : InetAddress.getByAddress(host, address.getAddress()));
        }
        addresses.sort(Comparator.comparing(InetAddress::isLoopbackAddress));
        return List.copyOf(addresses);
    }

    private InetAddress[] resolve(String spelling) throws UnknownHostException {
        try {
            return resolver.resolve(spelling);
        } catch (UnknownHostException e) {
            return resolver.resolve(host); // some name services distinguish upper and lower case
        }
    }

    private List<InetAddress> await(long nanos) throws IOException {
        if (needsNoLookup) {
            return known;
        }
        String problem;
        try {
            known = lookup.get(Math.max(0, nanos), TimeUnit.NANOSECONDS);
            return known;
        } catch (ExecutionException e) {
            problem = "no address is known for this name yet (" + Causes.describe(e) + ")";
        } catch (TimeoutException e) {
            problem = "no name server has answered for "
                    + TimeUnit.NANOSECONDS.toSeconds(clock.getAsLong() - lookupSince) + " s";
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            problem = "the lookup was interrupted";
        }
        if (known.isEmpty()) {
            throw new IOException("host=" + host + ": " + problem);
        }
        return known; // name servers may fail for a while
    }

    /** Returns the name in a spelling that the JVM has not looked up within the time for which it caches results. */
    private String spelling() {
        char[] name = host.toCharArray();
        int[] letters = IntStream.range(0, name.length)
                .filter(i -> name[i] < 128 && Character.isLetter(name[i]))
                .limit(MAX_VARIED_LETTERS)
                .toArray();
        long spellings = 1L << letters.length;
        long every = Math.max(FRESH_NANOS, REMEMBERED_NANOS / spellings);
        long number = (clock.getAsLong() - since) / every % spellings;
        for (int i = 0; i < letters.length; i++) {
            if ((number >> i & 1) != 0) {
                name[letters[i]] ^= 'a' ^ 'A';
            }
        }
        return new String(name);
    }
}
