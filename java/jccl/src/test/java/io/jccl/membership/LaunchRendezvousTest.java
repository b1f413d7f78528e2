package io.jccl.membership;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jccl.CommunicationTimeoutException;
import io.jccl.UniqueId;
import io.jccl.device.UserId;
import io.jccl.launch.Launch;
import io.jccl.launch.LaunchRendezvous;
import io.jccl.rendezvous.BootstrapOptions;
import io.jccl.rendezvous.CoordinatorAddress;
import io.jccl.wire.Handshake;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.concurrent.Callable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Tests how launched ranks meet if their hosts resolve names differently or report another user. */
@Timeout(60)
class LaunchRendezvousTest {

    private static final int ROOT_UID = 0;
    private static final int OTHER_UID = 12_345;

    @TempDir
    Path folder;

    private Path writtenId() throws IOException {
        Path file = folder.resolve("rendezvous");
        LaunchRendezvous.write(
                file,
                UniqueId.of(List.of(new InetSocketAddress("127.0.0.1", 1)), new byte[UniqueId.SECRET_BYTES])
                        .toText());
        return file;
    }

    /** Images of Hadoop and Spark set user.name to another user than the one that runs the process. */
    @Test
    void theOwnerOfAFileIsComparedByUidAndNotByTheUserNameProperty() throws Exception {
        Path file = writtenId();
        String name = System.getProperty("user.name");
        try {
            System.setProperty("user.name", "hadoop");
            assertThat(LaunchRendezvous.readId(file).addresses()).hasSize(1);
            if (UserId.ofThisProcess() == ROOT_UID) {
                Files.setAttribute(file, "unix:uid", OTHER_UID);
                System.setProperty("user.name", Files.getOwner(file).getName());
                assertThatThrownBy(() -> LaunchRendezvous.readId(file))
                        .isInstanceOf(IOException.class)
                        .hasMessageContaining("belongs to uid=12345, expected uid=0 of this process");
            }
        } finally {
            System.setProperty("user.name", name);
        }
    }

    private static int freePort() throws IOException {
        try (ServerSocket free = new ServerSocket(0)) {
            return free.getLocalPort();
        }
    }

    private static Callable<Bootstrap> rank(int rank, Launch.Address address, BootstrapOptions options) {
        Launch launch = new Launch("test", rank, 2, OptionalInt.empty(), address);
        return () -> Bootstrap.join(launch, 0, options);
    }

    /** Rank 0 does not resolve its own host's name, which name services may learn late or never. */
    @Test
    void rankZeroListensAlthoughItsOwnNameIsUnknown() throws Exception {
        int port = freePort();
        Launch.Secret secret = new Launch.Secret("abc");
        List<Bootstrap> group = Ranks.values(Ranks.together(List.of(
                rank(0, new Launch.Address("no-such-host.invalid", port, secret, false), Ranks.options()),
                rank(1, new Launch.Address("127.0.0.1", port, secret, false), Ranks.options()))));
        Ranks.close(group);
    }

    /** MPI launchers do not tell on which host of a job rank 0 runs. */
    @Test
    void rankZeroIsFoundOnAnyHostOfTheLaunch() throws Exception {
        int port = freePort();
        Launch.Address address = new Launch.Address(
                List.of("no-such-host.invalid", "127.0.0.3", "127.0.0.4", "127.0.0.1"),
                port,
                new Launch.Secret("abc"),
                false,
                Optional.empty());
        List<Callable<Bootstrap>> tasks = List.of(rank(0, address, Ranks.options()), rank(1, address, Ranks.options()));
        Ranks.close(Ranks.values(Ranks.together(tasks)));
    }

    @Test
    void aTimeOutSaysThatRankZeroListensForItsOwnHostOnly() throws Exception {
        BootstrapOptions options = Ranks.options().withInitTimeout(Duration.ofMillis(300));
        Launch.Address address = new Launch.Address("localhost", freePort(), new Launch.Secret("abc"), false);
        assertThatThrownBy(rank(0, address, options)::call)
                .isInstanceOfSatisfying(CommunicationTimeoutException.class, e -> assertThat(e.missingRanks())
                        .containsExactly(1))
                .hasMessageContaining(
                        "rank 0 listens for ranks of its own host only, because the rendezvous is" + " host=localhost");
    }

    @Test
    void aTimeOutSaysThatTheRendezvousHostIsThisHost() throws Exception {
        BootstrapOptions options = Ranks.options().withInitTimeout(Duration.ofMillis(300));
        Launch.Address address = new Launch.Address("127.0.0.3", freePort(), new Launch.Secret("abc"), false);
        assertThatThrownBy(rank(1, address, options)::call)
                .isInstanceOf(CommunicationTimeoutException.class)
                .hasMessageContaining("host=127.0.0.3 is 127.0.0.3 here, which is this host itself");
    }

    @Test
    void theAddressThatMostRanksReachedIsOfferedFirst() throws Exception {
        List<InetSocketAddress> addresses = List.of(
                new InetSocketAddress("10.0.0.1", 7),
                new InetSocketAddress("10.0.0.2", 7),
                new InetSocketAddress("127.0.0.1", 7));
        CoordinatorAddress offer = new CoordinatorAddress(new byte[Handshake.NONCE_BYTES], addresses);
        assertThat(offer.preferring(InetAddress.getByName("10.0.0.2")).addresses())
                .containsExactly(addresses.get(1), addresses.get(0), addresses.get(2));
        assertThat(offer.preferring(InetAddress.getByName("10.0.0.9")).addresses())
                .isEqualTo(addresses);
    }
}
