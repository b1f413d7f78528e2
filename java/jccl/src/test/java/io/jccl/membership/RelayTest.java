package io.jccl.membership;

import static org.assertj.core.api.Assertions.assertThat;

import io.jccl.PeerFailedException;
import io.jccl.control.Relay;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Tests the tree of relays, which forwards long answers of the coordinator, and what happens if a relay stops, dies or
 * loses its connections.
 */
@Timeout(120)
class RelayTest {

    private static final int SIZE = 25; // rank 1 relays to ranks 5 to 8, and rank 5 to ranks 21 to 24
    private static final int PART_BYTES = 400;
    private static final Duration HEARTBEAT_TIMEOUT = Duration.ofSeconds(8);

    private final List<Bootstrap> group = new ArrayList<>();
    private final CountDownLatch released = new CountDownLatch(1);

    @AfterEach
    void closeAll() throws InterruptedException {
        released.countDown();
        Ranks.close(group);
    }

    private void initialize() throws InterruptedException {
        group.addAll(Ranks.join(SIZE, Ranks.options().withHeartbeat(Duration.ofMillis(100), HEARTBEAT_TIMEOUT)));
    }

    private static byte[] part(int rank) {
        byte[] part = new byte[PART_BYTES];
        new Random(rank).nextBytes(part);
        return part;
    }

    private static int gather(Bootstrap rank) {
        List<byte[]> parts = rank.outOfBand().allGather(part(rank.rank()), Ranks.SOON);
        for (int peer = 0; peer < SIZE; peer++) {
            assertThat(parts.get(peer)).isEqualTo(part(peer));
        }
        return parts.size();
    }

    /** Stops the rank's thread that forwards answers, as if the process were stopped. */
    private void stop(int rank) throws InterruptedException {
        CountDownLatch stopped = new CountDownLatch(1);
        group.get(rank).onControlThread(() -> {
            stopped.countDown();
            try {
                assertThat(released.await(60, TimeUnit.SECONDS)).isTrue();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        });
        assertThat(stopped.await(20, TimeUnit.SECONDS)).isTrue();
    }

    /**
     * Returns the number of answers that the coordinator sent during a gather, estimated from the bytes that it sent.
     */
    private double answersSentIn(Callable<?> gather) throws Exception {
        long before = group.get(0).sentAsCoordinator();
        gather.call();
        return (group.get(0).sentAsCoordinator() - before) / (double) (SIZE * PART_BYTES);
    }

    @Test
    void theCoordinatorSendsLongAnswersToTheFirstRanksOnly() throws Exception {
        initialize();
        assertThat(answersSentIn(() -> Ranks.onAll(group, RelayTest::gather)))
                .isBetween(1.0 + Relay.FAN_OUT, 2.0 + Relay.FAN_OUT);
    }

    @Test
    void shortAnswersComeFromTheCoordinator() throws Exception {
        initialize();
        long before = group.get(0).sentAsCoordinator();
        stop(1);
        List<Bootstrap> others = without(1);
        Thread one = new Thread(() -> group.get(1).outOfBand().barrier(Ranks.SOON));
        one.start();
        long start = System.nanoTime();
        Ranks.onAll(others, rank -> {
            rank.outOfBand().barrier(Ranks.SOON);
            return null;
        });
        assertThat(Duration.ofNanos(System.nanoTime() - start)).isLessThan(HEARTBEAT_TIMEOUT);
        assertThat(group.get(0).sentAsCoordinator() - before).isLessThan(100L * SIZE * 40);
        released.countDown();
        one.join();
    }

    private List<Bootstrap> without(int rank) {
        List<Bootstrap> others = new ArrayList<>(group);
        others.remove(rank);
        return others;
    }

    @Test
    void aStoppedRelayIsBypassedAndNoRankFails() throws Exception {
        initialize();
        stop(1);
        Thread one = new Thread(() -> gather(group.get(1)));
        one.start();
        double answers = answersSentIn(() -> Ranks.onAll(without(1), RelayTest::gather));
        assertThat(answers).as("only the relay's children get one more").isLessThan(3.0 + 2 * Relay.FAN_OUT);
        released.countDown();
        one.join();
        Ranks.onAll(group, RelayTest::gather);
        assertThat(group)
                .allSatisfy(rank -> assertThat(rank.control().agreedFailure()).isEmpty());
    }

    @Test
    void aRelayThatDiesInAGatherIsNamedByAllAtOnce() throws Exception {
        initialize();
        long start = System.nanoTime();
        List<Callable<Integer>> tasks = new ArrayList<>();
        without(1).forEach(rank -> tasks.add(() -> gather(rank)));
        tasks.add(() -> {
            Thread.sleep(50);
            group.get(1).die();
            return 0;
        });
        List<Ranks.Outcome<Integer>> outcomes = Ranks.together(tasks);
        assertThat(outcomes.subList(0, SIZE - 1)).allSatisfy(outcome -> assertThat(outcome.error())
                .isInstanceOfSatisfying(PeerFailedException.class, e -> assertThat(e.failedRanks())
                        .isEqualTo(Set.of(1))));
        assertThat(Duration.ofNanos(System.nanoTime() - start)).isLessThan(HEARTBEAT_TIMEOUT);
    }

    @Test
    void aStoppedRelayIsNamedWhenItDies() throws Exception {
        initialize();
        stop(1);
        Thread one = new Thread(() -> {
            try {
                gather(group.get(1));
            } catch (RuntimeException e) {
                assertThat(e).isNotNull(); // its control network is closed
            }
        });
        one.start();
        Ranks.onAll(without(1), RelayTest::gather);
        List<Callable<Object>> tasks = new ArrayList<>();
        without(1).forEach(rank -> tasks.add(() -> gather(rank)));
        tasks.add(() -> {
            released.countDown();
            group.get(1).die();
            return 0;
        });
        assertThat(Ranks.together(tasks).subList(0, SIZE - 1)).allSatisfy(outcome -> assertThat(outcome.error())
                .isInstanceOfSatisfying(PeerFailedException.class, e -> assertThat(e.failedRanks())
                        .isEqualTo(Set.of(1))));
        one.interrupt();
        one.join();
    }

    @Test
    void ranksThatLoseTheirRelayAreServedByTheCoordinator() throws Exception {
        initialize();
        Ranks.onAll(group, RelayTest::gather);
        group.get(1).loseRelays();
        long start = System.nanoTime();
        double answers = answersSentIn(() -> Ranks.onAll(group, RelayTest::gather));
        assertThat(Duration.ofNanos(System.nanoTime() - start)).isLessThan(HEARTBEAT_TIMEOUT);
        assertThat(answers).isBetween(1.0 + 2 * Relay.FAN_OUT, 2.0 + 2 * Relay.FAN_OUT);
        assertThat(group)
                .allSatisfy(rank -> assertThat(rank.control().agreedFailure()).isEmpty());
    }
}
