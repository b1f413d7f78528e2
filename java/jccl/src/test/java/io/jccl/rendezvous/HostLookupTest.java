package io.jccl.rendezvous;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests how host names are resolved while ranks wait for each other. */
class HostLookupTest {

    private static final long SECOND = Duration.ofSeconds(1).toNanos();

    private final AtomicLong clock = new AtomicLong(77);

    /**
     * A name service behind the JVM's cache: after a failed lookup, that spelling of a name stays unknown for ten
     * seconds.
     */
    private final class Remembering implements HostLookup.Resolver {

        private final String host;
        private final Map<String, Long> unknownSince = new HashMap<>();
        private volatile InetAddress[] addresses = {};

        Remembering(String host) {
            this.host = host;
        }

        @Override
        public synchronized InetAddress[] resolve(String name) throws UnknownHostException {
            Long since = unknownSince.get(name);
            if (since == null || clock.get() - since >= 10 * SECOND) {
                if (addresses.length > 0 && name.equalsIgnoreCase(host)) {
                    return addresses;
                }
                unknownSince.put(name, clock.get());
            }
            throw new UnknownHostException(name);
        }
    }

    private static InetAddress[] addresses(String... texts) throws UnknownHostException {
        InetAddress[] addresses = new InetAddress[texts.length];
        for (int i = 0; i < texts.length; i++) {
            addresses[i] = InetAddress.getByName(texts[i]);
        }
        return addresses;
    }

    @ParameterizedTest
    @ValueSource(strings = {"nodea", "n1"})
    void aNameIsFoundSoonAfterItAppearsAlthoughTheJvmCachesThatItWasUnknown(String host) throws Exception {
        Remembering names = new Remembering(host);
        HostLookup lookup = new HostLookup(host, 1, names, clock::get, Runnable::run);
        for (int second = 0; second < 12; second++) {
            assertThatThrownBy(() -> HostLookup.resolve(List.of(lookup)))
                    .isInstanceOf(IOException.class)
                    .hasMessageContaining("host=" + host + ": no address is known for this name yet");
            clock.addAndGet(SECOND);
        }
        names.addresses = addresses("10.1.2.3");
        for (int second = 0; lookup.known().isEmpty(); second++) {
            assertThat(second).as("seconds").isLessThan(7);
            try {
                assertThat(HostLookup.resolve(List.of(lookup))).containsExactly(new InetSocketAddress("10.1.2.3", 1));
            } catch (IOException e) {
                clock.addAndGet(SECOND);
            }
        }
    }

    @Test
    void addressesOfOtherHostsComeBeforeLoopback() throws Exception {
        Remembering names = new Remembering("node1");
        names.addresses = addresses("127.0.1.1", "10.1.2.3");
        HostLookup lookup = new HostLookup("node1", 5, names, clock::get, Runnable::run);
        assertThat(HostLookup.resolve(List.of(lookup)))
                .containsExactly(new InetSocketAddress("10.1.2.3", 5), new InetSocketAddress("127.0.1.1", 5));
        assertThat(lookup.known().get(0).getHostName()).isEqualTo("node1");
    }

    /** An unreachable name server keeps a lookup busy for many seconds, and the lookup cannot be interrupted. */
    @Test
    void aSlowLookupDelaysNoOtherLookupAndIsNotRepeated() throws Exception {
        CountDownLatch answers = new CountDownLatch(1);
        AtomicInteger asked = new AtomicInteger();
        HostLookup slow = new HostLookup(
                "node1",
                5,
                name -> {
                    asked.incrementAndGet();
                    try {
                        answers.await();
                    } catch (InterruptedException e) {
                        throw new IllegalStateException(e);
                    }
                    return addresses("10.1.2.3");
                },
                System::nanoTime,
                lookup -> new Thread(lookup).start());
        HostLookup literal = new HostLookup("10.9.9.9", 6);
        assertThatThrownBy(() -> HostLookup.resolve(List.of(slow)))
                .isInstanceOf(IOException.class)
                .hasMessageContaining("host=node1: no name server has answered for ");
        assertThat(HostLookup.resolve(List.of(slow, literal))).containsExactly(new InetSocketAddress("10.9.9.9", 6));
        assertThat(asked).hasValue(1);
        answers.countDown();
        while (slow.known().isEmpty()) {
            HostLookup.resolve(List.of(slow, literal));
        }
        assertThat(HostLookup.resolve(List.of(slow, literal)))
                .containsExactly(new InetSocketAddress("10.1.2.3", 5), new InetSocketAddress("10.9.9.9", 6));
    }

    @Test
    void knownAddressesAreKeptWhileNameServersFail() throws Exception {
        Remembering names = new Remembering("node1");
        names.addresses = addresses("10.1.2.3");
        HostLookup lookup = new HostLookup("node1", 5, names, clock::get, Runnable::run);
        HostLookup.resolve(List.of(lookup));
        names.addresses = addresses();
        clock.addAndGet(2 * SECOND);
        assertThat(HostLookup.resolve(List.of(lookup))).containsExactly(new InetSocketAddress("10.1.2.3", 5));
        names.addresses = addresses("10.1.2.4");
        clock.addAndGet(11 * SECOND);
        assertThat(HostLookup.resolve(List.of(lookup)))
                .as("the host was replaced")
                .containsExactly(new InetSocketAddress("10.1.2.4", 5));
    }

    @ParameterizedTest
    @ValueSource(strings = {"localhost", "LOCALHOST.", "127.0.0.1", "::1"})
    void neitherLocalhostNorAnAddressIsLookedUp(String host) throws Exception {
        HostLookup lookup = new HostLookup(
                host,
                5,
                name -> {
                    throw new UnknownHostException("looked up " + name);
                },
                clock::get,
                Runnable::run);
        assertThat(HostLookup.resolve(List.of(lookup)))
                .allSatisfy(
                        one -> assertThat(one.getAddress().isLoopbackAddress()).isTrue());
        assertThat(HostLookup.loopback(host)).isPresent();
    }
}
