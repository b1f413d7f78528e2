package io.jccl.collnet;

import io.jccl.config.NetworkSettings;
import io.jccl.nativelib.DeviceEngine;
import io.jccl.nativelib.NativeEngine;
import io.jccl.parts.InitContext;
import io.jccl.planning.Plan;
import io.jccl.planning.PlannedHost;
import io.jccl.wire.WireException;
import io.jccl.wire.WireReader;
import io.jccl.wire.WireWriter;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import java.util.stream.IntStream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Connects CollNet, a network that reduces, if every rank has a plug-in for it. First all ranks make offers, then the
 * leaders of each group listen, then they connect. After each step all ranks agree whether all of them succeeded. If one
 * failed, no rank uses CollNet, and all know the reason.
 */
abstract class CollNetConnector {

    private static final Logger LOG = LoggerFactory.getLogger(CollNetConnector.class);

    private static final int MAX_BLOB_BYTES = 1 << 14;
    /** Time limit for connecting a group. The plug-in's call itself has no time limit. */
    private static final long CONNECT_NANOS = TimeUnit.SECONDS.toNanos(20);

    private final InitContext context;
    private final NativeCollNet network;
    private final Plan plan;

    private final String name;
    private final int maxGroups;

    /**
     * @param name for logs
     * @param maxGroups the most groups that can be used
     */
    private CollNetConnector(InitContext context, NativeCollNet network, Plan plan, String name, int maxGroups) {
        this.context = context;
        this.network = network;
        this.plan = plan;
        this.name = name;
        this.maxGroups = maxGroups;
    }

    /** Returns the rank that leads its host in a group. */
    abstract int leader(int group, int host);

    /**
     * Makes operations use the connected groups from now on.
     *
     * @param offers the offers of all ranks, by rank
     * @return the reason why the groups cannot be used; empty on success
     */
    abstract Optional<String> use(int groups, List<byte[]> offers);

    /** Releases the groups and the plug-in. */
    abstract void drop();

    /** Returns a connector for operations on host memory. The ranks of a host lead groups in turn. */
    static CollNetConnector forHosts(InitContext context, NativeEngine engine, Plan plan) {
        NativeCollNet network = new NativeCollNet(engine);
        return new CollNetConnector(context, network, plan, "collnet", plan.channels()) {
            @Override
            int leader(int group, int host) {
                List<Integer> ranks = plan.hosts().get(host).ranks();
                return ranks.get(group % ranks.size());
            }

            @Override
            Optional<String> use(int groups, List<byte[]> offers) {
                int hosts = plan.hosts().size();
                int[] leaders = new int[groups * hosts];
                Arrays.setAll(leaders, at -> leader(at / hosts, at % hosts));
                return network.use(leaders, groups, offers) ? Optional.empty() : Optional.of(NativeEngine.callError());
            }

            @Override
            void drop() {
                network.drop();
            }
        };
    }

    /**
     * Returns a connector for kernels of GPUs. Channel i uses group i; the first rank of the channel's chain leads.
     *
     * @param staging the host's engine that moves the data of the kernels
     * @param plan the plan over the GPUs
     * @param channels the number of channels that have a chain
     */
    static CollNetConnector forDevices(
            InitContext context, NativeEngine staging, DeviceEngine device, Plan plan, int channels) {
        NativeCollNet network = new NativeCollNet(staging);
        return new CollNetConnector(context, network, plan, "collnet of GPUs", channels) {
            @Override
            int leader(int group, int host) {
                return plan.chain(group, host).get(0);
            }

            @Override
            Optional<String> use(int groups, List<byte[]> offers) {
                int ranksOfHost = isEven(plan) ? plan.hosts().get(0).ranks().size() : 0;
                Optional<long[]> rows = network.stage(groups, offers, ranksOfHost);
                return rows.isEmpty()
                        ? Optional.of(NativeEngine.callError())
                        : NativeDeviceCollNet.connect(device, rows.get(), staging.shareMemory());
            }

            @Override
            void drop() {
                NativeDeviceCollNet.drop(device);
                network.drop();
            }
        };
    }

    /**
     * Connects CollNet; all ranks call this together.
     *
     * @return the traits of the network, the same on all ranks; empty if CollNet cannot be used
     */
    Optional<CollNetTraits> connect() {
        try {
            CollNetTraits traits = connectOrThrow();
            if (context.rank() == 0) {
                LOG.info(
                        "{}: the network reduces between hosts={} by groups={} of leaders={}{}",
                        name,
                        plan.hosts().size(),
                        traits.groups(),
                        leaders(0),
                        traits.gathers() ? "; it gathers and scatters, too" : "");
            }
            return Optional.of(traits);
        } catch (NotUsed e) {
            drop();
            if (context.rank() == 0) {
                LOG.warn("{}: not used: {}", name, e.getMessage());
            }
            return Optional.empty();
        }
    }

    /** Says that CollNet cannot be used. Thrown on all ranks, with the same reason. */
    private static final class NotUsed extends Exception {
        private static final long serialVersionUID = 1;

        NotUsed(String why) {
            super(why);
        }
    }

    /**
     * The result of a rank's step.
     *
     * @param obstacle the reason why the step failed; empty on success
     */
    private record Made(byte[] bytes, String obstacle) {
        static final Made NOTHING = new Made(new byte[0], "");
    }

    private CollNetTraits connectOrThrow() throws NotUsed {
        List<byte[]> offers = exchange(this::offer);
        CollNetTraits common = network.common(offers).orElseThrow(() -> new NotUsed(NativeEngine.callError()));
        int groups = Math.min(common.groups(), maxGroups);
        for (int group = 0; group < groups; group++) {
            connect(group);
        }
        exchange(
                () -> use(groups, offers).map(why -> new Made(new byte[0], why)).orElse(Made.NOTHING));
        return new CollNetTraits(groups, common.gathers() && isEven(plan), common.gigabytes(), common.latencyMicros());
    }

    private Made offer() {
        StringBuilder obstacles = new StringBuilder();
        List<String> names = NetworkSettings.netPluginNames(context.settings());
        if (names.isEmpty()) {
            return new Made(new byte[0], NetworkSettings.NET_PLUGIN.name() + "=none");
        }
        for (String name : names) {
            Optional<byte[]> offer = network.offer(name);
            if (offer.isPresent()) {
                return new Made(offer.get(), "");
            }
            obstacles.append(obstacles.length() == 0 ? "" : "; ").append(NativeEngine.callError());
        }
        return new Made(new byte[0], obstacles.toString());
    }

    private void connect(int group) throws NotUsed {
        List<Integer> leaders = leaders(group);
        int member = leaders.indexOf(context.rank());
        List<byte[]> handles = exchange(
                () -> member < 0 ? Made.NOTHING : made(network.listen(group).orElse(null)));
        List<byte[]> ofMembers = leaders.stream().map(handles::get).toList();
        long nanos = Math.min(CONNECT_NANOS, context.left().toNanos() / 2);
        exchange(() -> member < 0 || network.connect(group, ofMembers, member, nanos) ? Made.NOTHING : made(null));
    }

    private Made made(byte[] bytes) {
        return bytes == null ? new Made(new byte[0], NativeEngine.callError()) : new Made(bytes, "");
    }

    /** Returns the leaders of a group, by host. */
    private List<Integer> leaders(int group) {
        return IntStream.range(0, plan.hosts().size())
                .map(host -> leader(group, host))
                .boxed()
                .toList();
    }

    /**
     * Returns true if all hosts have the same number of ranks and rank numbers follow the order of hosts. The network
     * gathers and scatters in this layout only.
     */
    private static boolean isEven(Plan plan) {
        int first = 0;
        int each = plan.hosts().get(0).ranks().size();
        for (PlannedHost host : plan.hosts()) {
            List<Integer> expected =
                    IntStream.range(first, first + each).boxed().toList();
            if (!host.ranks().equals(expected)) {
                return false;
            }
            first += each;
        }
        return true;
    }

    /**
     * Carries out a step on this rank, and exchanges the results; all ranks call this together.
     *
     * @return the results, by rank
     * @throws NotUsed if the step failed on any rank, with that rank's reason
     */
    private List<byte[]> exchange(Supplier<Made> make) throws NotUsed {
        Made mine = make.get();
        String obstacle = mine.obstacle().isEmpty() || mine.obstacle().length() <= MAX_BLOB_BYTES / 4
                ? mine.obstacle()
                : mine.obstacle().substring(0, MAX_BLOB_BYTES / 4);
        List<byte[]> all = context.allGather(new WireWriter()
                .blob(obstacle.getBytes(StandardCharsets.UTF_8))
                .blob(mine.bytes())
                .toBytes());
        List<byte[]> made = new ArrayList<>();
        for (int rank = 0; rank < all.size(); rank++) {
            try {
                WireReader in = new WireReader(all.get(rank));
                String why = new String(in.blob(MAX_BLOB_BYTES), StandardCharsets.UTF_8);
                made.add(in.blob(MAX_BLOB_BYTES));
                in.end();
                if (!why.isEmpty()) {
                    throw new NotUsed("rank=" + rank + ": " + why);
                }
            } catch (WireException e) {
                throw new NotUsed("rank=" + rank + " sent a CollNet message that makes no sense: " + e.getMessage());
            }
        }
        return made;
    }
}
