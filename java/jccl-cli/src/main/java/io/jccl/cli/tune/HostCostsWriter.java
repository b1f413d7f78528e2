package io.jccl.cli.tune;

import io.jccl.Algorithm;
import io.jccl.Protocol;
import io.jccl.TransportKind;
import io.jccl.tuning.HostCosts;
import io.jccl.tuning.HostCosts.General;
import io.jccl.tuning.LinkCost;
import java.math.BigDecimal;
import java.math.MathContext;
import java.math.RoundingMode;
import java.util.Map;
import java.util.stream.Collectors;

/** Writes the text form of {@link HostCosts}, with comments that explain it. */
final class HostCostsWriter {

    private static final MathContext DIGITS = new MathContext(4, RoundingMode.HALF_EVEN);
    private static final int WHOLE = 1000;

    private static final String HEAD =
            """
            # Costs of the host backend, as `jccl tune` measures them. JCCL_TUNING_PROFILE names a file to use instead of the built-in one.
            #
            # Rows:  TRANSPORT.ALGORITHM.PROTOCOL.hop_us       time from a rank's store to the next rank acting on it
            #        TRANSPORT.ALGORITHM.PROTOCOL.ns_per_byte  time a rank needs per byte that it forwards: one number, or
            #                                                  one each for operations of %s bytes

            """;

    private static final Map<General, String> COMMENTS = Map.of(
            General.OPERATION_US,
                    "Fixed time of an operation, and of each further channel, for which a worker thread is woken.",
            General.STEP_US, "Time to handle one step: to wait for the credit and to publish the data.",
            General.OVERSUBSCRIBED_HOP_US, "Additional time of a hop per rank on a core, if ranks outnumber cores.",
            General.OVERSUBSCRIBED_DIRECT_FACTOR, "Factor of the time per byte of a direct operation in that case.",
            General.CHUNK_BYTES, "Largest step: normally, if ranks outnumber cores, and over networks.",
            General.ZERO_COPY_MIN_BYTES,
                    "Smallest size at which shared buffers are read in place, which costs two barriers.",
            General.DIRECT_MAX_BYTES,
                    "Largest sizes of operations that go to all peers at once: if data is staged, if ranks also"
                            + "\n# outnumber cores, and between two ranks over sockets, which send zero-copy.");

    private HostCostsWriter() {}

    static String write(HostCosts costs) {
        StringBuilder text = new StringBuilder();
        text.append(
                String.format(HEAD, LinkCost.SIZES.stream().map(String::valueOf).collect(Collectors.joining(" "))));
        line(text, HostCosts.SOURCE, costs.source().replace("\\", "\\\\").replaceAll("\\s+", " "));
        for (General constant : General.values()) {
            String comment = COMMENTS.get(constant);
            if (comment != null) {
                text.append("\n# ").append(comment).append('\n');
            }
            line(text, constant.key(), number(costs.get(constant)));
        }
        for (TransportKind transport : HostCosts.MEASURED) {
            text.append('\n');
            for (Algorithm algorithm : HostCosts.ALGORITHMS) {
                for (Protocol protocol : Protocol.values()) {
                    row(
                            text,
                            HostCosts.key(transport, algorithm, protocol),
                            costs.link(transport, algorithm, protocol));
                }
            }
        }
        return text.toString();
    }

    private static void row(StringBuilder text, String key, LinkCost cost) {
        line(text, key + HostCosts.HOP, number(cost.hopMicros()));
        boolean even = cost.nanosPerByte().stream().distinct().count() == 1;
        line(
                text,
                key + HostCosts.PER_BYTE,
                cost.nanosPerByte().stream()
                        .limit(even ? 1 : LinkCost.SIZES.size())
                        .map(HostCostsWriter::number)
                        .collect(Collectors.joining(" ")));
    }

    private static void line(StringBuilder text, String key, String value) {
        text.append(key).append('=').append(value).append('\n');
    }

    /** Formats a number with four digits, or from 1000 on as a whole number. */
    private static String number(double value) {
        BigDecimal exact = BigDecimal.valueOf(value);
        BigDecimal rounded = value >= WHOLE ? exact.setScale(0, RoundingMode.HALF_EVEN) : exact.round(DIGITS);
        return rounded.signum() == 0 ? "0" : rounded.stripTrailingZeros().toPlainString();
    }
}
