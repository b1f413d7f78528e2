package io.jccl.tuner;

import io.jccl.BootstrapException;
import io.jccl.Collective;
import io.jccl.InterruptedCommunicationException;
import io.jccl.JcclException;
import io.jccl.config.PluginSettings;
import io.jccl.internal.Causes;
import io.jccl.parts.BoundedCall;
import io.jccl.parts.ChoiceTuner;
import io.jccl.parts.InitContext;
import io.jccl.parts.NamedPlugin;
import io.jccl.planning.Plan;
import io.jccl.planning.PlannedHost;
import io.jccl.topology.NetPlugin;
import io.jccl.tuning.ChoiceTable;
import io.jccl.wire.WireException;
import io.jccl.wire.WireReader;
import io.jccl.wire.WireWriter;
import java.nio.ByteBuffer;
import java.util.EnumMap;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Callable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The tuner plug-in of a communicator. Only rank 0 opens and asks it, once, during initialisation; the other ranks
 * receive the changes. So all ranks make the same choices, whatever the plug-in would answer on other ranks, and no
 * operation waits for the plug-in.
 */
final class TunerPlugin implements ChoiceTuner {

    private static final Logger LOG = LoggerFactory.getLogger(TunerPlugin.class);
    private static final byte[] NOTHING = {};
    private static final int MAX_RUNS = 1 << 10;

    private final InitContext context;
    private final String communicator;
    private NativeTuner plugin; // null: there is none, or it has failed or been closed

    private TunerPlugin(InitContext context, String communicator, NativeTuner plugin) {
        this.context = context;
        this.communicator = communicator;
        this.plugin = plugin;
    }

    /**
     * Opens the tuner that the settings name, or else the one in the network plug-in's library. If the named one cannot
     * be opened, logs the reason.
     */
    static TunerPlugin open(InitContext context, String communicator, Optional<NetPlugin> network) {
        boolean asks = context.rank() == 0 && context.size() > 1;
        Optional<NativeTuner> found = asks
                ? NamedPlugin.find(context.settings(), PluginSettings.TUNER_PLUGIN, network, NativeTuner::open)
                : Optional.empty();
        return new TunerPlugin(context, communicator, found.orElse(null));
    }

    @Override
    public boolean isOpen() {
        return plugin != null;
    }

    @Override
    public void begin(Plan plan) {
        if (plugin == null) {
            return;
        }
        int min = Integer.MAX_VALUE;
        int max = 0;
        for (PlannedHost host : plan.hosts()) {
            min = Math.min(min, host.ranks().size());
            max = Math.max(max, host.ranks().size());
        }
        long id = ByteBuffer.wrap(context.membership().sessionId()).getLong();
        NativeTuner tuner = plugin;
        int minRanks = min;
        int maxRanks = max;
        attempt("init", () -> {
            tuner.init(id, plan.size(), plan.hosts().size(), minRanks, maxRanks);
            return true;
        });
    }

    @Override
    public ChoiceTable tune(String memory, ChoiceTable table) {
        byte[] mine = plugin == null ? NOTHING : ask(memory, table);
        byte[] changes = context.allGather(mine).get(0);
        try {
            return changes.length == 0 ? table : table.with(decode(changes));
        } catch (WireException | IllegalArgumentException e) {
            throw new BootstrapException(
                    "rank=0 bytes=" + changes.length + ": sent choices of its tuner plug-in that make no sense here, "
                            + Causes.describe(e) + "; use the same JCCL version on all ranks",
                    e);
        }
    }

    private byte[] ask(String memory, ChoiceTable table) {
        NativeTuner tuner = plugin;
        Optional<TunedChoices> asked = attempt("its answers", () -> TunedChoices.ask(table, tuner));
        if (asked.isEmpty()) {
            return NOTHING;
        }
        for (String problem : asked.get().problems()) {
            LOG.warn("communicator={} {} on {}: {}", communicator, tuner.description(), memory, problem);
        }
        for (String change : asked.get().changes()) {
            LOG.info("communicator={} {} changes, on {}: {}", communicator, tuner.description(), memory, change);
        }
        if (asked.get().changes().isEmpty()) {
            LOG.info("communicator={} {} changes nothing on {}", communicator, tuner.description(), memory);
        }
        return encode(asked.get().changed());
    }

    /** Calls the plug-in. If the call fails or does not return, returns empty and does not use the plug-in any more. */
    private <T> Optional<T> attempt(String what, Callable<T> body) {
        try {
            return Optional.of(BoundedCall.call(context, plugin.description() + ": " + what, body));
        } catch (InterruptedCommunicationException e) {
            plugin = null; // not closed, as the call's thread may still use it
            throw e;
        } catch (JcclException e) {
            LOG.warn("communicator={} {}; JCCL chooses alone", communicator, e.getMessage());
            if (!BoundedCall.isStillInside(e)) {
                plugin.close();
            }
            plugin = null;
            return Optional.empty();
        }
    }

    @Override
    public void close() {
        NativeTuner tuner = plugin;
        plugin = null;
        if (tuner != null) {
            try {
                BoundedCall.call(context, tuner.description() + ": finalize", () -> {
                    tuner.close();
                    return true;
                });
            } catch (JcclException e) { // also thrown after an interrupt, which the next step notices
                LOG.warn("communicator={} {}", communicator, e.getMessage());
            }
        }
    }

    /** Encodes changes as runs, because choices of neighbouring sizes are mostly the same. */
    static byte[] encode(Map<Collective, long[]> changed) {
        WireWriter out = new WireWriter().i32(changed.size());
        changed.forEach((collective, choices) -> {
            out.i32(collective.ordinal()).i32(choices.length);
            for (int at = 0; at < choices.length; ) {
                int end = at + 1;
                while (end < choices.length && choices[end] == choices[at]) {
                    end++;
                }
                out.i32(end - at).i64(choices[at]);
                at = end;
            }
        });
        return out.toBytes();
    }

    static Map<Collective, long[]> decode(byte[] bytes) {
        WireReader in = new WireReader(bytes);
        Map<Collective, long[]> changed = new EnumMap<>(Collective.class);
        Collective[] collectives = Collective.values();
        for (int left = in.i32In("collectives", 0, collectives.length); left > 0; left--) {
            Collective collective = collectives[in.i32In("collective", 0, collectives.length - 1)];
            long[] choices = new long[in.i32In("choices", 1, MAX_RUNS)];
            for (int at = 0; at < choices.length; ) {
                int end = at + in.i32In("run", 1, choices.length - at);
                long choice = in.i64();
                while (at < end) {
                    choices[at++] = choice;
                }
            }
            changed.put(collective, choices);
        }
        in.end();
        return changed;
    }
}
