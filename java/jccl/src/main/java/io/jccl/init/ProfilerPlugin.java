package io.jccl.init;

import io.jccl.InterruptedCommunicationException;
import io.jccl.JcclException;
import io.jccl.config.PluginSettings;
import io.jccl.nativelib.NativeProfiler;
import java.nio.ByteBuffer;
import java.util.Optional;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Opens the profiler plug-in of a communicator on this rank. */
final class ProfilerPlugin {

    private static final Logger LOG = LoggerFactory.getLogger(ProfilerPlugin.class);

    private ProfilerPlugin() {}

    /**
     * Opens and initialises what the settings name; where that fails the log says why, and the communicator does without.
     *
     * @param communicator its name
     * @param hosts how many it has
     */
    static Optional<NativeProfiler> open(InitContext context, String communicator, int hosts) {
        Optional<String> name = PluginSettings.named(context.settings(), PluginSettings.PROFILER_PLUGIN)
                .filter(one -> !one.isEmpty());
        return name.flatMap(one -> open(one, context, communicator, hosts));
    }

    private static Optional<NativeProfiler> open(String name, InitContext context, String communicator, int hosts) {
        long id = ByteBuffer.wrap(context.membership().sessionId()).getLong();
        NativeProfiler opened = null;
        try {
            NativeProfiler profiler = NativeProfiler.open(name, false);
            opened = profiler;
            BoundedCall.call(context, profiler.description() + ": init", () -> {
                profiler.init(id, communicator, hosts, context.size(), context.rank());
                return true;
            });
            LOG.info("communicator={} rank={} {} gets events", communicator, context.rank(), profiler.description());
            return Optional.of(profiler);
        } catch (InterruptedCommunicationException e) {
            throw e;
        } catch (JcclException e) {
            LOG.warn(
                    "{}={}: {}; operations have no events there",
                    PluginSettings.PROFILER_PLUGIN.name(),
                    name,
                    e.getMessage());
            if (opened != null && !BoundedCall.isStillInside(e)) {
                opened.close();
            }
            return Optional.empty();
        }
    }
}
