package io.jccl.chaos;

import io.jccl.CommunicatorConfig;
import io.jccl.TransportKind;
import java.time.Duration;
import java.util.List;
import java.util.Random;
import java.util.SortedSet;
import java.util.TreeSet;

/**
 * One round: which ranks there are, and what happens to whom, and when. All of it follows from the seed and the setting of
 * transports. Consecutive seeds go through every phase and fault.
 *
 * @param seed which round
 * @param size the number of ranks, without a process that joins
 * @param transport what joins the ranks
 * @param hosts by how many hosts they are simulated to be on, by host ids
 * @param phase what the fault strikes
 * @param fault what happens
 * @param victims to whom
 * @param staggered whether the second victim is struck when it has seen the first one fail
 * @param delayMicros how long after the victim has entered the phase
 * @param amount how long, or how many, as the fault defines it
 */
record Round(
        long seed,
        int size,
        TransportKind transport,
        int hosts,
        Phase phase,
        Fault fault,
        SortedSet<Integer> victims,
        boolean staggered,
        int delayMicros,
        int amount) {

    /** Limits that a healthy round stays far below. */
    static final Duration TIMEOUT = Duration.ofSeconds(3);

    static final Duration INIT_TIMEOUT = Duration.ofSeconds(5);
    static final Duration HEARTBEAT_TIMEOUT = Duration.ofSeconds(2);

    private static final Duration HEARTBEAT_INTERVAL = Duration.ofMillis(100);

    /** Longer than {@link #INIT_TIMEOUT}, and so than any. */
    private static final int ABSENT_MILLIS = 6000;

    private static final int MAX_BRIEF_MILLIS = 700;
    private static final int MAX_DELAY_MICROS = 40_000;
    private static final int MAX_DESCRIPTORS = 24;

    /**
     * Draws a round.
     *
     * @param transports what may join the ranks
     * @param slowness how many times slower than elsewhere the processor is
     */
    static Round of(long seed, List<TransportKind> transports, int slowness) {
        Fault[] faults = Fault.values();
        Phase[] phases = Phase.values();
        Fault fault = faults[(int) Long.remainderUnsigned(seed, faults.length)];
        Phase phase = phases[(int) Long.remainderUnsigned(Long.divideUnsigned(seed, faults.length), phases.length)];
        Random random = new Random(seed * 0x9e3779b97f4a7c15L);
        random.nextInt();
        TransportKind transport = transports.get(random.nextInt(transports.size()));
        int victimCount = random.nextInt(3) == 0 ? 2 : 1;
        int size = victimCount == 2 ? 5 : 3 + random.nextInt(3);
        int processes = phase == Phase.REFORM ? size + 1 : size;
        int hosts = joinsHosts(transport) && random.nextBoolean() ? 2 : 1;
        if (fault.isPartition()) {
            transport = transports.contains(TransportKind.PLUGIN) ? TransportKind.PLUGIN : TransportKind.SOCKET;
            hosts = size;
        }
        SortedSet<Integer> victims = new TreeSet<>();
        if (random.nextInt(3) == 0) {
            victims.add(0);
        }
        while (victims.size() < victimCount) {
            victims.add(random.nextInt(processes));
        }
        boolean staggered = victimCount == 2
                && (fault == Fault.KILL || fault == Fault.STOP)
                && phase != Phase.CLOSE
                && !victims.contains(size)
                && random.nextBoolean();
        int delay = random.nextInt(MAX_DELAY_MICROS);
        int amount =
                switch (fault) {
                    case STOP_BRIEFLY, PARTITION_BRIEFLY, SLOW -> 100 + random.nextInt(MAX_BRIEF_MILLIS - 100);
                    case ABSENT -> ABSENT_MILLIS * slowness;
                    case NO_DESCRIPTORS -> random.nextInt(MAX_DESCRIPTORS);
                    default -> 0;
                };
        return new Round(seed, size, transport, hosts, phase, fault, victims, staggered, delay * slowness, amount);
    }

    /** Whether ranks on simulated hosts may be joined by it. */
    static boolean joinsHosts(TransportKind transport) {
        return transport == TransportKind.SOCKET || transport == TransportKind.PLUGIN;
    }

    /** How many processes there are: the ranks, and behind them the one that joins. */
    int processes() {
        return phase == Phase.REFORM ? size + 1 : size;
    }

    /** Whether a process is the one that joins. */
    boolean joins(int process) {
        return process == size;
    }

    /** The configuration of a rank. */
    CommunicatorConfig config(int rank, int slowness) {
        // A network connection waits for three quarters of it, while TCP tries again ever more rarely.
        int patient = fault == Fault.PARTITION_BRIEFLY ? 3 : 1;
        CommunicatorConfig.Builder config = CommunicatorConfig.builder()
                .timeout(TIMEOUT.multipliedBy(slowness))
                .initTimeout(INIT_TIMEOUT.multipliedBy(slowness))
                .setting("JCCL_HEARTBEAT_INTERVAL", HEARTBEAT_INTERVAL.toMillis() + "ms")
                .setting(
                        "JCCL_HEARTBEAT_TIMEOUT",
                        HEARTBEAT_TIMEOUT
                                        .multipliedBy((long) patient * slowness)
                                        .toMillis() + "ms");
        if (transport != TransportKind.PLUGIN) {
            config.setting("JCCL_NET_PLUGIN", "none"); // the environment names the one of the other rounds
        }
        if (hosts > 1) {
            return config.hostId("host" + rank * hosts / size).build(); // the transports follow
        }
        return config.transport(transport).build();
    }

    @Override
    public String toString() {
        return "seed=" + seed + " " + phase.label() + " x " + fault.label() + ": ranks=" + size + " victims=" + victims
                + (staggered ? " one after the other" : "") + " transport=" + transport.label() + " hosts=" + hosts
                + " delay=" + delayMicros + " us amount=" + amount;
    }
}
