package io.jccl.profiler;

import io.jccl.InterruptedCommunicationException;
import io.jccl.JcclException;
import io.jccl.config.PluginSettings;
import io.jccl.parts.BoundedCall;
import io.jccl.parts.InitContext;
import io.jccl.parts.NamedPlugin;
import io.jccl.topology.NetPlugin;
import java.nio.ByteBuffer;
import java.util.Optional;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Opens the profiler plug-in of a communicator on this rank. */
final class ProfilerPlugin {

    private static final Logger LOG = LoggerFactory.getLogger(ProfilerPlugin.class);

    private ProfilerPlugin() {}

    /**
     * Opens and initialises the plug-in that the settings name. If that fails, logs the reason and returns empty.
     *
     * @param communicator the communicator's name
     * @param hosts the number of its hosts
     * @param network the network plug-in in use, whose library may contain a profiler, too
     */
    static Optional<NativeProfiler> open(
            InitContext context, String communicator, int hosts, Optional<NetPlugin> network) {
        boolean named = !context.settings().get(PluginSettings.PROFILER_PLUGIN).isEmpty();
        Optional<NativeProfiler> found = named
                ? NamedPlugin.find(context.settings(), PluginSettings.PROFILER_PLUGIN, network, NativeProfiler::open)
                : Optional.empty();
        return found.filter(profiler -> initialize(profiler, context, communicator, hosts));
    }

    private static boolean initialize(NativeProfiler profiler, InitContext context, String communicator, int hosts) {
        long id = ByteBuffer.wrap(context.membership().sessionId()).getLong();
        try {
            BoundedCall.call(context, profiler.description() + ": init", () -> {
                profiler.init(id, communicator, hosts, context.size(), context.rank());
                return true;
            });
            LOG.info("communicator={} rank={} {} gets events", communicator, context.rank(), profiler.description());
            return true;
        } catch (InterruptedCommunicationException e) {
            throw e;
        } catch (JcclException e) {
            LOG.warn(
                    "communicator={} rank={} {}; operations have no events there",
                    communicator,
                    context.rank(),
                    e.getMessage());
            if (!BoundedCall.isStillInside(e)) {
                profiler.close();
            }
            return false;
        }
    }
}
