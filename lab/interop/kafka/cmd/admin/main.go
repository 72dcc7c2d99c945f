// Command admin carries out one action of a Kafka operator, and prints the outcome as one JSON object:
//
//	{"topic":"jobs.neli","id":"3q2+7w...","partitions":[{"leader":1,"replicas":[1],"in_sync":[1]}]}
//
// A refusal by the broker is an object with its `error`, such as UNKNOWN_TOPIC_OR_PARTITION.
package main

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

const usage = `usage: admin BROKERS COMMAND
  create TOPIC REPLICAS [NAME=VALUE...]  REPLICAS is a number, or a list of brokers, the first preferred as leader: 2,3,1
  delete TOPIC
  topic TOPIC
  partitions TOPIC COUNT                 adds partitions, up to this number
  records TOPIC                          the records of partition 0
  append TOPIC VALUE [NAME=VALUE...]     a record in partition 0, with headers
  commit GROUP TOPIC OFFSET              as a client that is not a member
  group GROUP
  remove GROUP [MEMBER...]               all members if none is named
  coordinator GROUP
  password USER PASSWORD                 for SCRAM, by SHA-256 and SHA-512
  allow USER topic|group NAME OPERATION...
  forbid USER topic|group NAME OPERATION... revokes these permissions`

// limit is the time limit of a command, because a test's stopped brokers never answer.
const limit = 30 * time.Second

type object map[string]any

func main() {
	outcome, err := run(os.Args[1:])
	var refusal *kerr.Error
	switch {
	case errors.As(err, &refusal):
		outcome = object{"error": refusal.Message}
	case err != nil:
		fmt.Fprintln(os.Stderr, "admin:", err)
		os.Exit(1)
	}
	_ = json.NewEncoder(os.Stdout).Encode(outcome)
}

func run(words []string) (object, error) {
	if len(words) < 3 {
		return nil, errors.New(usage)
	}
	brokers, command, name, rest := strings.Split(words[0], ","), words[1], words[2], words[3:]
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	client, err := kgo.NewClient(
		kgo.SeedBrokers(brokers...),
		kgo.RecordPartitioner(kgo.ManualPartitioner()),
		// Idempotent writes need a producer id from any broker, even from one that a test has cut off.
		kgo.DisableIdempotentWrite(),
		// A short age lets a command see what the previous command changed.
		kgo.MetadataMinAge(10*time.Millisecond),
	)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	switch {
	case command == "create" && len(rest) > 0:
		return create(ctx, client, name, rest[0], rest[1:])
	case command == "delete":
		deleted, err := kadm.NewClient(client).DeleteTopic(ctx, name)
		return object{"deleted": name}, errors.Join(err, deleted.Err)
	case command == "topic":
		return topic(ctx, client, name)
	case command == "partitions" && len(rest) == 1:
		count, err := strconv.Atoi(rest[0])
		if err != nil {
			return nil, fmt.Errorf("%q is not a number", rest[0])
		}
		updated, err := kadm.NewClient(client).UpdatePartitions(ctx, count, name)
		return object{"partitions": count}, errors.Join(err, updated.Error())
	case command == "records":
		return records(ctx, client, brokers, name)
	case command == "append" && len(rest) > 0:
		return add(ctx, client, name, rest[0], rest[1:])
	case command == "commit" && len(rest) == 2:
		return commit(ctx, client, name, rest[0], rest[1])
	case command == "group":
		return group(ctx, client, name)
	case command == "remove":
		return remove(ctx, client, name, rest)
	case command == "coordinator":
		found := kadm.NewClient(client).FindGroupCoordinators(ctx, name)[name]
		return object{"coordinator": found.NodeID}, found.Err
	case command == "password" && len(rest) == 1:
		return password(ctx, client, name, rest[0])
	case command == "allow" && len(rest) > 2:
		return allow(ctx, client, name, rest[0], rest[1], rest[2:])
	case command == "forbid" && len(rest) > 2:
		return forbid(ctx, client, name, rest[0], rest[1], rest[2:])
	}
	return nil, errors.New(usage)
}

func create(ctx context.Context, client *kgo.Client, name, replicas string, settings []string) (object, error) {
	topic := kmsg.NewCreateTopicsRequestTopic()
	topic.Topic = name
	brokers := strings.Split(replicas, ",")
	if count, err := strconv.Atoi(replicas); err == nil && !strings.Contains(replicas, ",") {
		topic.NumPartitions, topic.ReplicationFactor = 1, int16(count)
	} else {
		assigned := kmsg.NewCreateTopicsRequestTopicReplicaAssignment()
		for _, broker := range brokers {
			number, err := strconv.Atoi(broker)
			if err != nil {
				return nil, fmt.Errorf("%q is not the number of a broker", broker)
			}
			assigned.Replicas = append(assigned.Replicas, int32(number))
		}
		topic.NumPartitions, topic.ReplicationFactor = -1, -1
		topic.ReplicaAssignment = append(topic.ReplicaAssignment, assigned)
	}
	for _, setting := range settings {
		key, value, _ := strings.Cut(setting, "=")
		config := kmsg.NewCreateTopicsRequestTopicConfig()
		config.Name, config.Value = key, &value
		topic.Configs = append(topic.Configs, config)
	}
	request := kmsg.NewPtrCreateTopicsRequest()
	request.Topics = append(request.Topics, topic)
	request.TimeoutMillis = int32(limit / time.Millisecond)
	answer, err := request.RequestWith(ctx, client)
	if err != nil {
		return nil, err
	}
	created := answer.Topics[0]
	return object{"topic": name, "id": id(created.TopicID)}, kerr.ErrorForCode(created.ErrorCode)
}

func topic(ctx context.Context, client *kgo.Client, name string) (object, error) {
	request := kmsg.NewPtrMetadataRequest()
	wanted := kmsg.NewMetadataRequestTopic()
	wanted.Topic = &name
	request.Topics = append(request.Topics, wanted)
	answer, err := request.RequestWith(ctx, client)
	if err != nil {
		return nil, err
	}
	found := answer.Topics[0]
	partitions := []object{}
	for _, partition := range found.Partitions {
		partitions = append(partitions, object{
			"leader": partition.Leader, "replicas": partition.Replicas, "in_sync": partition.ISR,
		})
	}
	settings := object{}
	if found.ErrorCode == 0 {
		described, err := kadm.NewClient(client).DescribeTopicConfigs(ctx, name)
		if err != nil {
			return nil, err
		}
		for _, config := range described[0].Configs {
			settings[config.Key] = config.MaybeValue()
		}
	}
	outcome := object{"topic": name, "id": id(found.TopicID), "partitions": partitions, "settings": settings}
	return outcome, kerr.ErrorForCode(found.ErrorCode)
}

func records(ctx context.Context, client *kgo.Client, brokers []string, name string) (object, error) {
	ends, err := kadm.NewClient(client).ListEndOffsets(ctx, name)
	if err != nil {
		return nil, err
	}
	end, ok := ends.Lookup(name, 0)
	if !ok || end.Err != nil {
		return nil, errors.Join(kerr.UnknownTopicOrPartition, end.Err)
	}
	starts, err := kadm.NewClient(client).ListStartOffsets(ctx, name)
	if err != nil {
		return nil, err
	}
	start, _ := starts.Lookup(name, 0)
	found := []object{}
	if start.Offset == end.Offset {
		return object{"records": found, "end": end.Offset}, nil
	}
	reader, err := kgo.NewClient(kgo.SeedBrokers(brokers...), kgo.ConsumePartitions(
		map[string]map[int32]kgo.Offset{name: {0: kgo.NewOffset().At(start.Offset)}}))
	if err != nil {
		return nil, err
	}
	defer reader.Close()
	for next := start.Offset; next < end.Offset; {
		fetched := reader.PollFetches(ctx)
		if err := fetched.Err0(); err != nil {
			return nil, err
		}
		fetched.EachRecord(func(record *kgo.Record) {
			next = record.Offset + 1
			headers := object{}
			for _, header := range record.Headers {
				headers[header.Key] = string(header.Value)
			}
			line := object{
				"offset": record.Offset, "value": string(record.Value), "headers": headers,
				"timestamp": record.Timestamp.UnixMilli(),
			}
			if record.Key != nil {
				line["key"] = string(record.Key)
			}
			found = append(found, line)
		})
	}
	return object{"records": found, "end": end.Offset}, nil
}

func add(ctx context.Context, client *kgo.Client, name, value string, headers []string) (object, error) {
	record := &kgo.Record{Topic: name, Partition: 0, Value: []byte(value)}
	for _, header := range headers {
		key, text, _ := strings.Cut(header, "=")
		record.Headers = append(record.Headers, kgo.RecordHeader{Key: key, Value: []byte(text)})
	}
	err := client.ProduceSync(ctx, record).FirstErr()
	return object{"offset": record.Offset}, err
}

func commit(ctx context.Context, client *kgo.Client, group, topic, offset string) (object, error) {
	at, err := strconv.ParseInt(offset, 10, 64)
	if err != nil {
		return nil, err
	}
	offsets := kadm.Offsets{}
	offsets.AddOffset(topic, 0, at, -1)
	err = kadm.NewClient(client).CommitAllOffsets(ctx, group, offsets)
	return object{"committed": at}, err
}

// group describes a group of either protocol with the same fields. Brokers do not report the epoch of a classic group.
func group(ctx context.Context, client *kgo.Client, name string) (object, error) {
	admin := kadm.NewClient(client)
	members := []object{}
	if all, err := admin.DescribeConsumerGroups(ctx, name); err == nil && all[name].Err == nil {
		described := all[name]
		for _, member := range described.Members {
			partitions := []int32{}
			for _, of := range member.Assignment.Sorted() {
				partitions = append(partitions, of.Partitions...)
			}
			members = append(members, object{
				"id": member.MemberID, "instance": member.InstanceID, "client": member.ClientID,
				"epoch": member.MemberEpoch, "partitions": partitions,
			})
		}
		return object{
			"type": "consumer", "state": described.State, "assignor": described.AssignorName,
			"epoch": described.Epoch, "members": members,
		}, nil
	}
	all, err := admin.DescribeGroups(ctx, name)
	if err != nil {
		return nil, err
	}
	described := all[name]
	for _, member := range described.Members {
		partitions := []int32{}
		if assigned, ok := member.Assigned.AsConsumer(); ok {
			for _, of := range assigned.Topics {
				partitions = append(partitions, of.Partitions...)
			}
		}
		members = append(members, object{
			"id": member.MemberID, "instance": member.InstanceID, "client": member.ClientID,
			"partitions": partitions,
		})
	}
	return object{
		"type": "classic", "state": described.State, "assignor": described.Protocol, "members": members,
	}, described.Err
}

func remove(ctx context.Context, client *kgo.Client, name string, members []string) (object, error) {
	if len(members) == 0 {
		described, err := group(ctx, client, name)
		if err != nil {
			return nil, err
		}
		for _, member := range described["members"].([]object) {
			members = append(members, member["id"].(string))
		}
	}
	request := kmsg.NewPtrLeaveGroupRequest()
	request.Group = name
	for _, member := range members {
		leaving := kmsg.NewLeaveGroupRequestMember()
		leaving.MemberID = member
		request.Members = append(request.Members, leaving)
	}
	answer, err := request.RequestWith(ctx, client)
	if err != nil {
		return nil, err
	}
	problem := kerr.ErrorForCode(answer.ErrorCode)
	for _, member := range answer.Members {
		problem = errors.Join(problem, kerr.ErrorForCode(member.ErrorCode))
	}
	return object{"removed": members}, problem
}

func password(ctx context.Context, client *kgo.Client, user, password string) (object, error) {
	// Brokers accept only one change of a user in a request.
	for _, mechanism := range []kadm.ScramMechanism{kadm.ScramSha256, kadm.ScramSha512} {
		change := kadm.UpsertSCRAM{User: user, Mechanism: mechanism, Iterations: 4096, Password: password}
		altered, err := kadm.NewClient(client).AlterUserSCRAMs(ctx, nil, []kadm.UpsertSCRAM{change})
		if err := errors.Join(err, altered.Error()); err != nil {
			return nil, err
		}
	}
	return object{"user": user}, nil
}

func allow(ctx context.Context, client *kgo.Client, user, resource, name string, operations []string) (object, error) {
	builder, err := permissions(user, resource, name, operations)
	if err != nil {
		return nil, err
	}
	created, err := kadm.NewClient(client).CreateACLs(ctx, builder)
	if err != nil {
		return nil, err
	}
	for _, one := range created {
		if one.Err != nil {
			return nil, one.Err
		}
	}
	return object{"user": user, resource: name}, nil
}

func forbid(ctx context.Context, client *kgo.Client, user, resource, name string, operations []string) (object, error) {
	builder, err := permissions(user, resource, name, operations)
	if err != nil {
		return nil, err
	}
	results, err := kadm.NewClient(client).DeleteACLs(ctx, builder)
	if err != nil {
		return nil, err
	}
	deleted := 0
	for _, one := range results {
		if one.Err != nil {
			return nil, one.Err
		}
		deleted += len(one.Deleted)
	}
	if deleted < len(operations) {
		return nil, fmt.Errorf("%d of %d permissions were there", deleted, len(operations))
	}
	return object{"user": user, resource: name}, nil
}

func permissions(user, resource, name string, operations []string) (*kadm.ACLBuilder, error) {
	builder := kadm.NewACLs().Allow("User:" + user).AllowHosts("*").ResourcePatternType(kadm.ACLPatternLiteral)
	switch resource {
	case "topic":
		builder = builder.Topics(name)
	case "group":
		builder = builder.Groups(name)
	default:
		return nil, errors.New(usage)
	}
	var parsed []kadm.ACLOperation
	for _, operation := range operations {
		one, err := kmsg.ParseACLOperation(operation)
		if err != nil {
			return nil, err
		}
		parsed = append(parsed, one)
	}
	return builder.Operations(parsed...), nil
}

func id(bytes [16]byte) string {
	return base64.RawURLEncoding.EncodeToString(bytes[:])
}
