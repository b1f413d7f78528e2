package io.jccl.membership;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jccl.BootstrapException;
import io.jccl.UniqueId;
import io.jccl.rendezvous.BootstrapOptions;
import io.jccl.rendezvous.Connector;
import io.jccl.rendezvous.RendezvousServer;
import io.jccl.wire.Handshake;
import io.jccl.wire.PortProbe;
import io.jccl.wire.WireException;
import io.jccl.wire.WireReader;
import io.jccl.wire.WireWriter;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.SortedSet;
import java.util.TreeSet;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Tests the rules of reforming that the model of the membership protocol ({@link MembershipModelTest}) has shown to be
 * needed. Ranks of other generations and processes of other versions must be refused.
 */
@Timeout(value = 60, unit = TimeUnit.SECONDS, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class ReformRulesTest {

    private static final BootstrapOptions OPTIONS = Ranks.options().withInitTimeout(Duration.ofSeconds(10));

    /** Options for calls that must fail because nobody else comes. */
    private static final BootstrapOptions BRIEF = OPTIONS.withInitTimeout(Duration.ofSeconds(2));

    private static SortedSet<Integer> excluded(Integer... ranks) {
        return new TreeSet<>(Set.of(ranks));
    }

    private static List<String> addresses(List<Bootstrap> group) {
        return group.stream().map(Bootstrap::rendezvousAddress).toList();
    }

    private static List<Bootstrap> reform(List<Bootstrap> group, Integer... without) throws InterruptedException {
        return reform(group, true, without);
    }

    private static List<Bootstrap> reform(List<Bootstrap> group, boolean needsMajority, Integer... without)
            throws InterruptedException {
        List<String> addresses = addresses(group);
        List<Callable<Bootstrap>> tasks = new ArrayList<>();
        for (Bootstrap rank : group) {
            if (!Set.of(without).contains(rank.rank())) {
                tasks.add(() -> rank.reform(excluded(without), 0, addresses, needsMajority, OPTIONS));
            }
        }
        return Ranks.values(Ranks.together(tasks));
    }

    /**
     * The leading rank ends after rank 1 received the new group and rank 2 failed to initialise it: neither may
     * continue alone.
     */
    @Test
    void ranksThatDisagreeAboutTheNewGroupDoNotBothContinue() throws Exception {
        List<Bootstrap> old = Ranks.join(3, OPTIONS);
        List<Bootstrap> made = reform(old);
        List<String> oldAddresses = addresses(old);
        List<String> madeAddresses = addresses(made);
        old.get(1).close(); // its application has received the new group
        made.get(2).giveUp("it did not see the last barrier");
        made.get(0).die();
        old.get(0).die();
        assertThatThrownBy(() -> made.get(1).reform(excluded(0, 2), 0, madeAddresses, true, BRIEF))
                .isInstanceOf(BootstrapException.class)
                .hasMessageContaining("only 1 of 3 ranks are left, {1}");
        assertThatThrownBy(() -> old.get(2).reform(excluded(0, 1), 0, oldAddresses, true, BRIEF))
                .isInstanceOf(BootstrapException.class)
                .hasMessageContaining("only 1 of 3 ranks are left, {2}");
        made.get(1).close();
        old.get(2).close();
    }

    /** Once all ranks are known to use the new group, the previous group no longer counts, and its ports are closed. */
    @Test
    void aConfirmedGroupReplacesThePreviousOne() throws Exception {
        List<Bootstrap> old = Ranks.join(3, OPTIONS);
        addresses(old); // opens the ports of the old ranks
        old.get(0).die();
        List<Bootstrap> made = reform(old, 0);
        List<String> addresses = addresses(made);
        made.forEach(Bootstrap::confirm);
        String before = old.get(1).rendezvousAddress();
        old.get(1).close();
        old.get(2).close();
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(5);
        while (!new PortProbe(0).hasEnded(ReservedPort.decode(before))) {
            assertThat(System.nanoTime()).as("the port is closed soon").isLessThan(deadline);
        }
        made.get(1).die();
        Bootstrap alone = made.get(0).reform(excluded(1), 0, addresses, true, OPTIONS);
        assertThat(alone.generation()).isEqualTo(2);
        alone.close();
        made.get(0).close();
    }

    /** A rank that was left out may live: it must not conclude from closed ports that the others have ended. */
    @Test
    void portsStayOpenForARankThatWasLeftOutAndLives() throws Exception {
        List<Bootstrap> old = Ranks.join(3, OPTIONS);
        List<Bootstrap> made = reform(old, 0);
        List<String> addresses = addresses(old);
        made.forEach(Bootstrap::confirm);
        old.get(1).close();
        old.get(2).close();
        assertThatThrownBy(() -> old.get(0).reform(excluded(1, 2), 0, addresses, true, BRIEF))
                .isInstanceOf(BootstrapException.class)
                .hasMessageContaining("only 1 of 3 ranks are left, {0}");
        made.forEach(Bootstrap::close);
        old.get(0).close();
    }

    /**
     * The others left one rank out of a new group, but then all ranks continued in the old group. When the rank that
     * was left out reforms, it waits for the others, which may be late. If it has entered no more operations than the
     * others had entered when they left it out, it fails instead.
     */
    @ParameterizedTest
    @ValueSource(ints = {0, 2})
    void aRankThatWasLeftOutAndContinuedWaitsForLateRanks(int leftOut) throws Exception {
        List<Bootstrap> old = Ranks.join(3, OPTIONS);
        AtomicLong entered = new AtomicLong(5);
        for (Bootstrap rank : old) {
            rank.control().start(new ControlNetworkTest.Source(rank.rank(), entered), failure -> {});
        }
        for (Bootstrap part : reform(old, false, leftOut)) {
            part.close();
        }
        List<String> addresses = addresses(old);
        assertThatThrownBy(() -> old.get(leftOut).reform(excluded(), 0, addresses, false, OPTIONS))
                .isInstanceOf(BootstrapException.class)
                .hasMessageContaining("exclude different ones");
        for (Bootstrap part : reform(old, false, leftOut)) {
            part.close();
        }
        entered.set(6);
        List<Callable<Bootstrap>> all = new ArrayList<>();
        for (Bootstrap rank : old) {
            all.add(() -> {
                if (rank.rank() != leftOut) {
                    // Sleeps longer than a rank waits for ranks that exclude different ranks.
                    TimeUnit.MILLISECONDS.sleep(3500);
                }
                return rank.reform(excluded(), 0, addresses, false, OPTIONS);
            });
        }
        List<Bootstrap> made = Ranks.values(Ranks.together(all));
        assertThat(made).hasSize(3);
        made.forEach(Bootstrap::close);
        old.forEach(Bootstrap::close);
    }

    /**
     * Another generation also has another secret. The greeting contains the generation only so that the message can
     * name it.
     */
    @Test
    void aRankOfAnOlderGenerationIsToldBothGenerations() throws Exception {
        BootstrapOptions third = OPTIONS.withGeneration(3);
        RendezvousServer.Started started = RendezvousServer.open(third);
        UniqueId id = started.id();
        Connector connector =
                new Connector(Handshake.Purpose.RENDEZVOUS, "rank 1", true, Connector.IfRefused.NOT_OPEN_YET, 2);
        long soon = System.nanoTime() + TimeUnit.SECONDS.toNanos(10);
        assertThat(connector.attempt(id.addresses().get(0), id.secret(), 5000, soon))
                .isNull();
        assertThat(connector.table()).contains("generation=3: expected generation=2; the communicator was reformed");
        started.server().close();
        byte[] greeting = Handshake.greeting(new byte[Handshake.NONCE_BYTES], 4);
        assertThatThrownBy(() -> Handshake.nonceOf(greeting, 5))
                .isInstanceOf(WireException.class)
                .hasMessageContaining("generation=4: expected generation=5");
        assertThat(Handshake.nonceOf(greeting, 4)).hasSize(Handshake.NONCE_BYTES);
        assertThat(Handshake.nonceOf(greeting, Handshake.ANY_GENERATION)).hasSize(Handshake.NONCE_BYTES);
    }

    @Test
    void aProcessOfAnotherVersionIsRefusedAtOnce() throws Exception {
        UniqueId id = Bootstrap.createId(OPTIONS);
        Bootstrap only = Bootstrap.join(id, 0, 1, OPTIONS);
        String address = only.rendezvousAddress();
        BootstrapOptions other = new BootstrapOptions(
                OPTIONS.initTimeout(),
                OPTIONS.heartbeatInterval(),
                OPTIONS.heartbeatTimeout(),
                OPTIONS.queryTimeout(),
                OPTIONS.closeTimeout(),
                "lo",
                "AF_INET",
                "test 2",
                0,
                OPTIONS.encrypted(),
                0,
                System::nanoTime);
        JobMembers members = JobMembers.of(id, List.of(JobMembers.text(address)));
        List<Ranks.Outcome<Bootstrap>> outcomes = Ranks.together(List.of(
                () -> only.reform(excluded(), 1, List.of(address), false, BRIEF),
                () -> Bootstrap.join(members, 0, other, attempt -> {})));
        assertThat(outcomes.get(1).error())
                .isInstanceOf(BootstrapException.class)
                .hasMessageContaining(
                        "the process that joins runs version=\"test 2\", the group runs version=\"test 1\"");
        assertThat(outcomes.get(0).error()).hasMessageContaining("0 of 1 processes came to join within 2 s");
        only.close();
    }

    @Test
    void invalidBytesOfEarlierGroupsAreRefused() {
        WireWriter outOfRange = new WireWriter().i32(1).flag(true).i32(1).i32(7).text("00", 10);
        assertThatThrownBy(() -> EarlierGroup.read(new WireReader(outOfRange.toBytes()), 3))
                .isInstanceOf(WireException.class)
                .hasMessageContaining("rank=7");
        WireWriter noAddress = new WireWriter().i32(1).flag(true).i32(1).i32(-1).text("nothing", 10);
        assertThatThrownBy(() -> EarlierGroup.read(new WireReader(noAddress.toBytes()), 3))
                .isInstanceOf(WireException.class)
                .hasMessageContaining("rendezvousAddress=\"nothing\"");
    }
}
