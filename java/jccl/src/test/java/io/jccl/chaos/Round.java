package io.jccl.chaos;

import io.jccl.CommunicatorConfig;
import io.jccl.TransportKind;
import java.time.Duration;
import java.util.List;
import java.util.Random;
import java.util.SortedSet;
import java.util.TreeSet;

/**
 * One round of chaos: its ranks, its fault, the victims, and the time at which the fault strikes them. All of this
 * follows from the seed and the available transports. Consecutive seeds go through every phase and fault.
 *
 * @param seed the seed from which the round is drawn
 * @param size the number of ranks, without a process that joins
 * @param transport the transport between the ranks
 * @param hosts the number of hosts that are simulated by host ids
 * @param phase the phase in which the fault strikes
 * @param fault the fault
 * @param victims the ranks, or the process that joins, which the fault strikes
 * @param staggered whether the second victim is struck only when it has seen the first one fail
 * @param delayMicros the time from the victim's entry into the phase until the fault, in microseconds
 * @param amount a time in milliseconds or a number of descriptors, depending on the fault
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

    /** Time limits that a healthy round stays far below. */
    static final Duration TIMEOUT = Duration.ofSeconds(3);

    static final Duration INIT_TIMEOUT = Duration.ofSeconds(5);
    static final Duration HEARTBEAT_TIMEOUT = Duration.ofSeconds(2);

    private static final Duration HEARTBEAT_INTERVAL = Duration.ofMillis(100);

    /** Delay of an absent rank: longer than {@link #INIT_TIMEOUT}, the longest of the time-outs. */
    private static final int ABSENT_MILLIS = 6000;

    private static final int MAX_BRIEF_MILLIS = 700;
    private static final int MAX_DELAY_MICROS = 40_000;
    private static final int MAX_DESCRIPTORS = 24;

    /**
     * Draws the round of a seed.
     *
     * @param transports the transports to choose from
     * @param slowness factor by which this host is slower than usual
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

    /** Returns true if a transport can connect ranks on different simulated hosts. */
    static boolean joinsHosts(TransportKind transport) {
        return transport == TransportKind.SOCKET || transport == TransportKind.PLUGIN;
    }

    /** Returns the number of processes: the ranks and, in a round that reforms, the process that joins. */
    int processes() {
        return phase == Phase.REFORM ? size + 1 : size;
    }

    /** Returns true if a process is the one that joins, which has the last number. */
    boolean joins(int process) {
        return process == size;
    }

    /** Returns the configuration of a rank. */
    CommunicatorConfig config(int rank, int slowness) {
        // A network connection fails after three quarters of the heartbeat time-out. TCP retries at growing intervals,
        // so connections need a longer heartbeat time-out to survive a brief partition.
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
            // The environment names a plug-in, which only rounds with transport PLUGIN use.
            config.setting("JCCL_NET_PLUGIN", "none");
        }
        if (hosts > 1) {
            return config.hostId("host" + rank * hosts / size).build(); // JCCL chooses the transports by the host ids
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
