package io.jccl.membership;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jccl.CommunicationTimeoutException;
import io.jccl.PeerFailedException;
import io.jccl.control.OutOfBand;
import io.jccl.wire.WireWriter;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.Callable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

@Timeout(120)
class OutOfBandTest {

    private static byte[] blob(int rank, int bytes) {
        byte[] blob = new byte[bytes];
        Arrays.fill(blob, (byte) (rank + 1));
        return blob;
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3, 5, 8, 32, 64})
    void everyRankGetsTheBlobsOfAllRanks(int size) throws Exception {
        List<List<byte[]>> all = Ranks.run(size, rank -> {
            rank.outOfBand().barrier(Ranks.SOON);
            assertThat(rank.outOfBand().broadcast(blob(rank.rank(), 9), size - 1, Ranks.SOON))
                    .isEqualTo(blob(size - 1, 9));
            return rank.outOfBand().allGather(blob(rank.rank(), rank.rank() * 37), Ranks.SOON);
        });
        for (List<byte[]> one : all) {
            assertThat(one).hasSize(size);
            for (int rank = 0; rank < size; rank++) {
                assertThat(one.get(rank)).isEqualTo(blob(rank, rank * 37));
            }
        }
    }

    @Test
    void largeBlobsPass() throws Exception {
        List<List<byte[]>> all =
                Ranks.run(3, rank -> rank.outOfBand().allGather(blob(rank.rank(), 3 << 20), Ranks.SOON));
        assertThat(all).allSatisfy(one -> assertThat(one.get(2)).isEqualTo(blob(2, 3 << 20)));
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 5})
    void messagesAreMatchedByPeerAndTagAndKeepTheirOrder(int size) throws Exception {
        Ranks.run(size, rank -> {
            OutOfBand net = rank.outOfBand();
            for (int peer = 0; peer < size; peer++) {
                for (int i = 0; i < 10; i++) {
                    net.send(peer, 100 + i % 2, new byte[] {(byte) rank.rank(), (byte) i});
                }
            }
            for (int peer = size - 1; peer >= 0; peer--) {
                for (int tag = 1; tag >= 0; tag--) {
                    for (int i = tag; i < 10; i += 2) {
                        assertThat(net.receive(peer, 100 + tag, Ranks.SOON)).containsExactly(peer, i);
                    }
                }
            }
            return null;
        });
    }

    @Test
    void aLateRankIsNamed() throws Exception {
        List<Bootstrap> group = Ranks.join(3, Ranks.options());
        List<Throwable> errors = Ranks.onAll(group.subList(0, 2), rank -> {
            try {
                rank.outOfBand().barrier(Duration.ofMillis(200));
                return null;
            } catch (CommunicationTimeoutException e) {
                assertThat(e.missingRanks()).isEqualTo(Set.of(2));
                return e;
            }
        });
        assertThat(errors).allSatisfy(e -> assertThat(e)
                .hasMessageStartingWith(
                        "rank 2 did not join an exchange of the control plane within 200 ms (2 of 3 arrived); "));
        assertThatThrownBy(() -> group.get(2).outOfBand().receive(1, 7, Duration.ofMillis(20)))
                .isInstanceOfSatisfying(CommunicationTimeoutException.class, e -> assertThat(e.missingRanks())
                        .isEqualTo(Set.of(1)));
        Ranks.close(group);
    }

    @Test
    void invalidPeersAndSizesAreRefusedBeforeAnythingIsSent() throws Exception {
        Ranks.run(1, rank -> {
            OutOfBand net = rank.outOfBand();
            assertThatThrownBy(() -> net.send(1, 0, new byte[0])).hasMessageContaining("peer=1");
            assertThatThrownBy(() -> net.receive(-1, 0, Ranks.SOON)).hasMessageContaining("peer=-1");
            assertThatThrownBy(() -> net.allGather(new byte[OutOfBand.MAX_PAYLOAD_BYTES + 1], Ranks.SOON))
                    .isInstanceOf(IllegalArgumentException.class);
            return null;
        });
    }

    @Test
    void subgroupsFollowColorAndKey() throws Exception {
        List<String> all = Ranks.run(7, rank -> {
            int color = rank.rank() == 6 ? -1 : rank.rank() % 2;
            Optional<Bootstrap> half = rank.beginSplit(color, -rank.rank())
                    .join(Ranks.options(), new byte[0], (group, ranks, sent) -> group);
            if (half.isEmpty()) {
                return "none";
            }
            try (Bootstrap group = half.get()) {
                List<byte[]> parents = group.outOfBand().allGather(new byte[] {(byte) rank.rank()}, Ranks.SOON);
                List<Integer> order = new ArrayList<>();
                parents.forEach(one -> order.add((int) one[0]));
                assertThat(order.get(group.rank())).isEqualTo(rank.rank());
                return order.toString();
            }
        });
        assertThat(all)
                .containsExactly("[4, 2, 0]", "[5, 3, 1]", "[4, 2, 0]", "[5, 3, 1]", "[4, 2, 0]", "[5, 3, 1]", "none");
    }

    /**
     * The parent communicator stays usable when a split fails. To continue without the failed rank, callers need that
     * rank's number in the parent.
     */
    @Test
    void aSplitThatFailsNamesRanksByTheirNumbersInTheParent() throws Exception {
        List<Bootstrap> all = Ranks.join(4, Ranks.options());
        List<Ranks.Outcome<Set<Integer>>> outcomes = Ranks.together(all.stream()
                .<Callable<Set<Integer>>>map(rank -> () -> {
                    rank.beginSplit(rank.rank() % 2, 0).join(Ranks.options(), new byte[0], (group, ranks, sent) -> {
                        if (rank.rank() == 3) {
                            group.giveUp("no memory");
                            return null;
                        }
                        if (rank.rank() == 1) {
                            throw group.awaitFailure(Ranks.SOON).orElseThrow();
                        }
                        group.close();
                        return null;
                    });
                    return Set.of();
                })
                .toList());
        assertThat(outcomes.get(1).error())
                .isInstanceOfSatisfying(PeerFailedException.class, e -> assertThat(e.failedRanks())
                        .containsExactly(3))
                .hasMessageContaining("color=1 and ranks {1,3} could not be split off")
                .hasMessageContaining("rank 1 gave up")
                .hasMessageContaining("no memory");
        Ranks.close(all);
    }

    /**
     * Rank 3 dies before it enters the subgroup, or reaches its rendezvous server, so only the parent learns of its
     * death.
     */
    @ParameterizedTest
    @ValueSource(ints = {0, 1})
    void aSplitWhoseParentFailsThrowsTheParentsFailure(int leader) throws Exception {
        List<Bootstrap> all = Ranks.join(4, Ranks.options());
        List<Ranks.Outcome<Set<Integer>>> outcomes = Ranks.together(all.stream()
                .<Callable<Set<Integer>>>map(rank -> () -> {
                    if (rank.rank() == 3) {
                        byte[] mine = new WireWriter()
                                .i32(0) // color
                                .i32(0) // key
                                .i32(0) // kept connections
                                .blob(new byte[0])
                                .toBytes();
                        rank.outOfBand().allGather(mine, Ranks.SOON);
                        if (leader != 0) {
                            rank.outOfBand().allGather(new byte[0], Ranks.SOON);
                        }
                        rank.die();
                    } else {
                        rank.beginSplit(0, rank.rank() == leader ? -1 : 0)
                                .join(Ranks.options(), new byte[0], (group, ranks, sent) -> {
                                    group.outOfBand().barrier(Ranks.SOON);
                                    return group;
                                });
                    }
                    return Set.of();
                })
                .toList());
        for (int rank = 0; rank < 3; rank++) {
            assertThat(outcomes.get(rank).error())
                    .isInstanceOfSatisfying(PeerFailedException.class, e -> assertThat(e.failedRanks())
                            .containsExactly(3));
        }
        Ranks.close(all);
    }

    @Test
    void allRanksShareASecret() throws Exception {
        List<List<Byte>> secrets = new ArrayList<>();
        for (byte[] one : Ranks.run(3, one -> one.identity().dataKey())) {
            List<Byte> bytes = new ArrayList<>();
            for (byte b : one) {
                bytes.add(b);
            }
            secrets.add(bytes);
        }
        assertThat(Set.copyOf(secrets)).hasSize(1);
    }

    @Test
    void closingLeavesNoThreads() throws Exception {
        Set<Thread> before = Thread.getAllStackTraces().keySet(); // threads of the process outlive its communicators
        Ranks.run(5, rank -> null);
        List<String> left = new ArrayList<>();
        long end = System.nanoTime() + 20_000_000_000L;
        do {
            left.clear();
            Thread.getAllStackTraces().keySet().stream()
                    .filter(thread -> !before.contains(thread))
                    .map(Thread::getName)
                    .filter(name -> name.startsWith("jccl-"))
                    .forEach(left::add);
        } while (!left.isEmpty() && System.nanoTime() < end);
        assertThat(left).isEmpty();
    }
}
