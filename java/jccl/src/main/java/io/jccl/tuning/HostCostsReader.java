package io.jccl.tuning;

import io.jccl.internal.Causes;
import io.jccl.tuning.HostCosts.General;
import java.io.IOException;
import java.io.Reader;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.StringTokenizer;

/** Reads the text form of {@link HostCosts}. Refuses missing keys, unknown keys and invalid numbers. */
final class HostCostsReader {

    /** Former names of keys, which profiles of users may still contain. */
    private static final Map<String, String> FORMER_KEYS =
            Map.of("lent_direct_max_bytes", General.ZERO_COPY_SEND_DIRECT_MAX_BYTES.key());

    private final Properties properties = new Properties();
    private final Set<String> left;
    private final String name;

    HostCostsReader(Reader in, String name) throws IOException {
        this.name = name;
        try {
            properties.load(in);
        } catch (IllegalArgumentException e) { // a bad escape sequence
            throw new IllegalArgumentException(
                    name + ": is no properties file (" + Causes.describe(e) + "): expected lines of KEY=VALUE", e);
        }
        for (Map.Entry<String, String> former : FORMER_KEYS.entrySet()) {
            rename(former.getKey(), former.getValue());
        }
        left = new HashSet<>(properties.stringPropertyNames());
    }

    private void rename(String former, String key) {
        if (properties.containsKey(former) && !properties.containsKey(key)) {
            properties.put(key, properties.remove(former));
        }
    }

    HostCosts read() {
        double[] general = new double[General.values().length];
        for (General constant : General.values()) {
            general[constant.ordinal()] = number(constant.key(), text(constant.key()));
        }
        LinkCost[] links = new LinkCost[HostCosts.linkCount()];
        for (HostCosts.Link link : HostCosts.links()) {
            String hop = link.key() + HostCosts.HOP;
            links[link.index()] = new LinkCost(number(hop, text(hop)), numbers(link.key() + HostCosts.PER_BYTE));
        }
        left.remove(HostCosts.SOURCE);
        if (!left.isEmpty()) {
            throw new IllegalArgumentException(name + ": unknown key=" + Collections.min(left)
                    + ": expected the keys of the built-in " + HostCosts.RESOURCE);
        }
        return new HostCosts(properties.getProperty(HostCosts.SOURCE, name), general, links);
    }

    private String text(String key) {
        left.remove(key);
        String text = properties.getProperty(key);
        if (text == null) {
            throw new IllegalArgumentException(name + ": key=" + key + " is missing: every constant has to be given");
        }
        return text.strip();
    }

    /** Returns the numbers of a row, which contains one number for all sizes or one for each. */
    private List<Double> numbers(String key) {
        String text = text(key);
        List<Double> numbers = new ArrayList<>();
        for (StringTokenizer parts = new StringTokenizer(text); parts.hasMoreTokens(); ) {
            numbers.add(number(key, parts.nextToken()));
        }
        if (numbers.size() == 1) {
            return Collections.nCopies(LinkCost.SIZES.size(), numbers.get(0));
        }
        if (numbers.size() != LinkCost.SIZES.size()) {
            throw new IllegalArgumentException(name + ": " + key + "=" + text + ": expected one number, or "
                    + LinkCost.SIZES.size() + " for operations of " + LinkCost.SIZES + " bytes");
        }
        return numbers;
    }

    private double number(String key, String text) {
        try {
            double value = Double.parseDouble(text);
            if (value >= 0 && !Double.isInfinite(value)) {
                return value;
            }
        } catch (NumberFormatException e) {
            throw refused(key, text, e);
        }
        throw refused(key, text, null);
    }

    private IllegalArgumentException refused(String key, String text, Exception cause) {
        return new IllegalArgumentException(name + ": " + key + "=" + text + ": expected a number from 0 up", cause);
    }
}
