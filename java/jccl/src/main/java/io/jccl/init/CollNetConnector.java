package io.jccl.init;

import io.jccl.bootstrap.WireException;
import io.jccl.bootstrap.WireReader;
import io.jccl.bootstrap.WireWriter;
import io.jccl.config.AlgorithmSettings;
import io.jccl.config.NetworkSettings;
import io.jccl.nativelib.DeviceEngine;
import io.jccl.nativelib.NativeEngine;
import io.jccl.plan.Plan;
import io.jccl.plan.PlannedHost;
import io.jccl.tuning.CollNetTraits;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.function.BiPredicate;
import java.util.function.IntBinaryOperator;
import java.util.function.Supplier;
import java.util.stream.IntStream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Lets the network reduce (CollNet), where the settings want it and every rank has a plug-in for it: all make their offers, then
 * the leaders of each group listen, then they connect, and after each step all agree whether all could. Where one could not,
 * nobody uses it, for a reason that all know.
 */
final class CollNetConnector {

    private static final Logger LOG = LoggerFactory.getLogger(CollNetConnector.class);

    private static final int MAX_BLOB_BYTES = 1 << 14;
    /** A plug-in's connect has no time limit of its own. */
    private static final long CONNECT_NANOS = TimeUnit.SECONDS.toNanos(20);

    private final InitContext context;
    private final NativeEngine engine;
    private final Plan plan;
    private final User user;

    /**
     * Who uses the network: what differs between memory of hosts and of GPUs.
     *
     * @param name for logs
     * @param groups how many groups it can use
     * @param gathers whether it can gather and scatter
     * @param leader the leader of a group on a host
     * @param use takes so many groups, and the offers by rank; whether that succeeded
     */
    private record User(
            String name,
            int groups,
            boolean gathers,
            IntBinaryOperator leader,
            BiPredicate<Integer, List<byte[]>> use) {}

    private CollNetConnector(InitContext context, NativeEngine engine, Plan plan, User user) {
        this.context = context;
        this.engine = engine;
        this.plan = plan;
        this.user = user;
    }

    /** For operations on memory of hosts: groups are led by the host's ranks in turn. */
    static CollNetConnector forHosts(InitContext context, NativeEngine engine, Plan plan) {
        int hosts = plan.hosts().size();
        IntBinaryOperator leader = (group, host) -> {
            List<Integer> ranks = plan.hosts().get(host).ranks();
            return ranks.get(group % ranks.size());
        };
        BiPredicate<Integer, List<byte[]>> use = (groups, offers) -> {
            int[] leaders = new int[groups * hosts];
            Arrays.setAll(leaders, at -> leader.applyAsInt(at / hosts, at % hosts));
            return engine.useCollNet(leaders, groups, offers);
        };
        return new CollNetConnector(
                context, engine, plan, new User("collnet", plan.channels(), isEven(plan), leader, use));
    }

    /**
     * For kernels of GPUs: each group on the channel with its number, led by who begins the channel's chain.
     *
     * @param staging the host's engine that moves their data
     * @param plan over the GPUs
     * @param groups the maximum number
     */
    static CollNetConnector forDevices(
            InitContext context, NativeEngine staging, DeviceEngine device, Plan plan, int groups) {
        User user = new User(
                "collnet of GPUs",
                groups,
                false,
                (group, host) -> plan.chain(group, host).get(0),
                (connected, offers) -> device.connectCollNet(staging, connected, offers));
        return new CollNetConnector(context, staging, plan, user);
    }

    /** Whether the settings let the network reduce between the hosts of a plan; the same on all ranks. */
    static boolean isWanted(InitContext context, Plan plan) {
        return context.settings().get(AlgorithmSettings.COLLNET_ENABLE)
                && plan.hosts().size() > 1
                && plan.hosts().size() >= context.settings().get(AlgorithmSettings.COLLNET_NODE_THRESHOLD);
    }

    /** What the network can do from here on; the same on all ranks, which do this together. */
    Optional<CollNetTraits> connect() {
        try {
            CollNetTraits traits = connectOrSay();
            if (context.rank() == 0) {
                LOG.info(
                        "{}: the network reduces between hosts={} by groups={} of leaders={}{}",
                        user.name(),
                        plan.hosts().size(),
                        traits.groups(),
                        leaders(0),
                        traits.gathers() ? "; it gathers and scatters, too" : "");
            }
            return Optional.of(traits);
        } catch (NotUsed e) {
            engine.dropCollNet();
            if (context.rank() == 0) {
                LOG.warn("{}: not used: {}", user.name(), e.getMessage());
            }
            return Optional.empty();
        }
    }

    /** The reason, which all ranks know. */
    private static final class NotUsed extends Exception {
        private static final long serialVersionUID = 1;

        NotUsed(String why) {
            super(why);
        }
    }

    /** What a rank could make, or why it could not. */
    private record Made(byte[] bytes, String obstacle) {
        static final Made NOTHING = new Made(new byte[0], "");
    }

    private CollNetTraits connectOrSay() throws NotUsed {
        List<byte[]> offers = exchange(this::offer);
        NativeEngine.CollNetCommon common =
                engine.commonCollNet(offers).orElseThrow(() -> new NotUsed(engine.lastError()));
        int groups = Math.min(common.groups(), user.groups());
        for (int group = 0; group < groups; group++) {
            connect(group);
        }
        exchange(() -> made(user.use().test(groups, offers) ? new byte[0] : null));
        return new CollNetTraits(
                groups, common.gathers() && user.gathers(), common.gigabytes(), common.latencyMicros());
    }

    private Made offer() {
        StringBuilder obstacles = new StringBuilder();
        List<String> names = NetworkSettings.netPluginNames(context.settings());
        if (names.isEmpty()) {
            return new Made(new byte[0], NetworkSettings.NET_PLUGIN.name() + "=none");
        }
        for (String name : names) {
            Optional<byte[]> offer = engine.offerCollNet(name);
            if (offer.isPresent()) {
                return new Made(offer.get(), "");
            }
            obstacles.append(obstacles.length() == 0 ? "" : "; ").append(engine.lastError());
        }
        return new Made(new byte[0], obstacles.toString());
    }

    private void connect(int group) throws NotUsed {
        List<Integer> leaders = leaders(group);
        int member = leaders.indexOf(context.rank());
        List<byte[]> handles = exchange(() ->
                member < 0 ? Made.NOTHING : made(engine.listenCollNet(group).orElse(null)));
        List<byte[]> ofMembers = leaders.stream().map(handles::get).toList();
        long nanos = Math.min(CONNECT_NANOS, context.left().toNanos() / 2);
        exchange(
                () -> member < 0 || engine.connectCollNet(group, ofMembers, member, nanos) ? Made.NOTHING : made(null));
    }

    private Made made(byte[] bytes) {
        return bytes == null ? new Made(new byte[0], engine.lastError()) : new Made(bytes, "");
    }

    /** The leader of each host. */
    private List<Integer> leaders(int group) {
        return IntStream.range(0, plan.hosts().size())
                .map(host -> user.leader().applyAsInt(group, host))
                .boxed()
                .toList();
    }

    /** Whether hosts have equally many ranks, one host's behind the other's, as the network gathers. */
    private static boolean isEven(Plan plan) {
        int[] hostOf = EngineConnector.hosts(plan);
        boolean even = true;
        for (int rank = 1; rank < hostOf.length; rank++) {
            even &= hostOf[rank] >= hostOf[rank - 1];
        }
        int ranks = plan.hosts().get(0).ranks().size();
        for (PlannedHost host : plan.hosts()) {
            even &= host.ranks().size() == ranks;
        }
        return even;
    }

    /** What all made, by rank; a rank that could not names its reason to all. */
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
                throw new NotUsed("rank=" + rank + " sent what makes no sense: " + e.getMessage());
            }
        }
        return made;
    }
}
